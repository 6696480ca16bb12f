;;; SPDX-FileCopyrightText: 2026 The wcodec authors
;;; SPDX-License-Identifier: BSD-2-Clause
;;;
;;; Not built: written by Guix's rules on a machine without it. The address and the checksum are
;;; placeholders until a release is published.
;;;     guix build -f packaging/guix/wcodec.scm

(use-modules (guix packages)
             (guix download)
             (guix gexp)
             (guix build-system gnu)
             ((guix licenses) #:prefix license:)
             (gnu packages check)
             (gnu packages compression)
             (gnu packages digest)
             (gnu packages mpi)
             (gnu packages opencl)
             (gnu packages pkg-config)
             (gnu packages python)
             (gnu packages web))

(package
  (name "wcodec")
  (version "0.1.0")
  (source (origin
            (method url-fetch)
            (uri (string-append "https://wcodec.example.org/releases/wcodec-"
                                version ".tar.xz"))
            (sha256
             (base32
              "0000000000000000000000000000000000000000000000000000"))))
  (build-system gnu-build-system)
  (arguments
   (list #:configure-flags
         #~(list "--with-hwloc" "--with-lz4" "--with-opencl" "--with-cmocka"
                 "--without-cuda" "--without-mpi" "--disable-static")))
  (native-inputs (list cmocka pkg-config python))
  (inputs (list `(,hwloc "lib") jansson lz4 opencl-headers
                xxhash `(,zstd "lib")))
  (home-page "https://wcodec.example.org")
  (synopsis "Compressor for checkpoints of neural networks")
  (description
   "The command wcodec compresses files of neural networks' weights without
loss: safetensors, GGUF, NumPy, PyTorch and ONNX files, and folders of them.  It
restores the original byte for byte, or single tensors of it.  The library
decodes on all processor cores and, by a plugin, to the memory of OpenCL
devices.")
  (license license:bsd-2))
