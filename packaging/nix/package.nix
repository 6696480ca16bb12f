# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Not built: written by the rules of nixpkgs on a machine without Nix. The address and the checksum
# are placeholders until a release is published.
#     nix-build -E '(import <nixpkgs> { }).callPackage packaging/nix/package.nix { }'
{
  lib,
  stdenv,
  fetchurl,
  pkg-config,
  cmocka,
  python3,
  hwloc,
  jansson,
  lz4,
  opencl-headers,
  xxHash,
  zstd,
}:

stdenv.mkDerivation (finalAttrs: {
  pname = "wcodec";
  version = "0.1.0";

  src = fetchurl {
    url = "https://wcodec.example.org/releases/wcodec-${finalAttrs.version}.tar.xz";
    hash = lib.fakeHash;
  };

  outputs = [
    "out"
    "dev"
    "man"
  ];

  strictDeps = true;
  nativeBuildInputs = [ pkg-config ];
  nativeCheckInputs = [ python3 ];
  checkInputs = [ cmocka ];
  buildInputs = [
    hwloc
    jansson
    lz4
    opencl-headers
    xxHash
    zstd
  ];

  configureFlags = [
    "--with-hwloc"
    "--with-lz4"
    "--with-opencl"
    (lib.withFeature finalAttrs.finalPackage.doCheck "cmocka")
    "--without-cuda"
    "--without-mpi"
    "--disable-static"
  ];

  enableParallelBuilding = true;
  doCheck = true;

  meta = {
    description = "Compressor for checkpoints of neural networks";
    homepage = "https://wcodec.example.org";
    license = lib.licenses.bsd2;
    mainProgram = "wcodec";
    platforms = lib.platforms.linux;
  };
})
