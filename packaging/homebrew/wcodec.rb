# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
#
# Not built: written by Homebrew's rules on a machine without it. The address and the checksum are
# placeholders until a release is published. For Linux alone: PACKAGERS says why.
class Wcodec < Formula
  desc "Compressor for checkpoints of neural networks"
  homepage "https://wcodec.example.org"
  url "https://wcodec.example.org/releases/wcodec-0.1.0.tar.xz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "BSD-2-Clause"

  depends_on "opencl-headers" => :build
  depends_on "pkgconf" => :build
  depends_on "hwloc"
  depends_on "jansson"
  depends_on :linux
  depends_on "lz4"
  depends_on "xxhash"
  depends_on "zstd"

  def install
    system "./configure", "--with-hwloc", "--with-lz4", "--with-opencl", "--without-cmocka",
                          "--without-cuda", "--without-mpi", "--disable-static", *std_configure_args
    system "make", "install"
  end

  test do
    header = '{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}'
    (testpath/"w.safetensors").binwrite [header.bytesize].pack("Q<") + header + "abcd"
    system bin/"wcodec", "compress", "-q", "w.safetensors"
    system bin/"wcodec", "verify", "-q", "w.safetensors.wcodec", "w.safetensors"
  end
end
