# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Completion of wcodec for fish.

set -l commands compress decompress list info test verify cat extract convert rebase bench devices report help version

# The names of the tensors in the .wcodec files among the words, as far as JSON has them unescaped.
function __wcodec_tensors
    for file in (commandline -opc)
        if string match -q -- '*.wcodec*' $file; and test -e $file
            wcodec list --json -- $file 2>/dev/null | string match -r -g '^\{"name":"([^"\\\\]*)","dtype"'
        end
    end
end

complete -c wcodec -n '__fish_seen_subcommand_from devices version help' -f
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a compress -d 'Compress files or folders'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a decompress -d 'Restore the originals'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a list -d 'List the tensors'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a info -d 'Describe files and how their tensors are coded'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a test -d 'Decode everything and check all checksums'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a verify -d 'Compare with the originals'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a cat -d 'Write one tensor'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a extract -d 'Write one tensor'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a convert -d 'Make a safetensors file'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a rebase -d 'Make deltas of another base, or none'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a bench -d 'Measure ratio and speed'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a devices -d 'List backends and devices'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a report -d 'Make a page of charts (Python package)'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a help -d 'Explain a command'
complete -c wcodec -n "not __fish_seen_subcommand_from $commands" -f -a version -d 'Print the version'
complete -c wcodec -n '__fish_seen_subcommand_from help' -f -a "$commands"

complete -c wcodec -s T -l threads -x -d 'Worker threads'
complete -c wcodec -l backend -x -a 'auto cpu cuda opencl' -d 'Backend to decode with'
complete -c wcodec -n '__fish_seen_subcommand_from bench test' -l backend -x -a all -d 'Backend to decode with'
complete -c wcodec -l memory-limit -x -d 'Memory to hold at most'
complete -c wcodec -s q -l quiet -d 'Say less'
complete -c wcodec -s v -l verbose -d 'Say more'
complete -c wcodec -l no-progress -d 'No progress bar'
complete -c wcodec -l no-sandbox -d 'Keep what decoding does not need'
complete -c wcodec -l color -x -a 'auto always never' -d 'Colours'
complete -c wcodec -s h -l help -d 'Help'
complete -c wcodec -s V -l version -d 'Version'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress cat extract convert rebase report' -s o -l output -r -F -d 'Name of the output'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress cat extract convert rebase' -s c -l stdout -d 'Write to standard output'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress cat extract convert rebase report' -s f -l force -d 'Replace existing outputs'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress cat extract convert rebase' -l no-sync -d 'Do not wait for the disk'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress' -s O -l output-dir -x -a '(__fish_complete_directories)' -d 'Folder for outputs'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress' -s k -l keep -d 'Keep inputs'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress' -l rm -d 'Remove inputs'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress convert test verify' -s r -l recursive -d 'Go through folders'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress list info test verify convert rebase bench devices version' -l json -d 'As JSON'
complete -c wcodec -n '__fish_seen_subcommand_from compress bench' -l fast -d 'Level 1'
complete -c wcodec -n '__fish_seen_subcommand_from compress bench' -l best -d 'Level 9'
complete -c wcodec -n '__fish_seen_subcommand_from compress bench' -l level -x -a '1 2 3 4 5 6 7 8 9' -d 'Level'
complete -c wcodec -n '__fish_seen_subcommand_from compress bench' -l tune -x -a 'size latency compute-fixed compute' -d 'What tiles are chosen for'
complete -c wcodec -n '__fish_seen_subcommand_from compress bench' -l tile -x -a '4096 8192 16384 32768 65536' -d 'Elements of a tile'
complete -c wcodec -n '__fish_seen_subcommand_from compress bench' -l profile -x -a 'auto pairs p12 p8' -d 'rANS profile'
complete -c wcodec -n '__fish_seen_subcommand_from compress bench' -l predict -x -a 'auto none left top average planar paeth wht' -d 'Predictor'
complete -c wcodec -n '__fish_seen_subcommand_from compress' -l lossy -x -a 'none snr: error: bits:' -d 'Approximate tensors'
complete -c wcodec -n '__fish_seen_subcommand_from compress' -l lossy-scale -x -a 'tensor row' -d 'One step for a tensor, or one for each row'
complete -c wcodec -n '__fish_seen_subcommand_from compress' -l include -x -d 'Tensors to code as weights'
complete -c wcodec -n '__fish_seen_subcommand_from compress' -l exclude -x -d 'Tensors to keep in zstd chunks; with --lossy, exact'
complete -c wcodec -n '__fish_seen_subcommand_from compress' -s N -l name -d 'Note name, mode and time'
complete -c wcodec -n '__fish_seen_subcommand_from compress' -s n -l no-name -d 'Do not note them'
complete -c wcodec -n '__fish_seen_subcommand_from compress' -l raw -d 'Opaque bytes'
complete -c wcodec -n '__fish_seen_subcommand_from compress' -l strict -d 'Refuse an input in which no tensors are found'
complete -c wcodec -n '__fish_seen_subcommand_from compress' -l no-verify -d 'Do not decode and compare'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress list info test verify cat extract convert rebase' -l base -r -F -d 'File or folder that deltas are made of'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress list info test verify cat extract convert rebase' -l base-depth -x -d 'Deltas that may stand on each other'
complete -c wcodec -n '__fish_seen_subcommand_from rebase' -l from -r -F -d 'Base that deltas have now'
complete -c wcodec -n '__fish_seen_subcommand_from compress' -l index -x -a 'end front' -d 'Place of the index'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress list info test' -l filelist -r -F -d 'File with names of inputs'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress cat extract' -l tensor -x -a '(__wcodec_tensors)' -d 'Only this tensor'
complete -c wcodec -n '__fish_seen_subcommand_from compress decompress' -l only -x -d 'Only tensors that match'
complete -c wcodec -n '__fish_seen_subcommand_from decompress' -l keep-going -d 'Go on after damage'
complete -c wcodec -n '__fish_seen_subcommand_from decompress cat extract' -l no-checksum -d 'Skip checksums'
complete -c wcodec -n '__fish_seen_subcommand_from cat extract' -l slice -x -d 'Rows FIRST:END'
complete -c wcodec -n '__fish_seen_subcommand_from convert' -l dequantize -x -a 'none f16 bf16 f32' -d 'Blocks as numbers'
complete -c wcodec -n '__fish_seen_subcommand_from verify' -l xxh128 -x -d 'Hash of the original'
complete -c wcodec -n '__fish_seen_subcommand_from test' -l quick -d 'Structure and index only'
complete -c wcodec -n '__fish_seen_subcommand_from bench' -s n -l iterations -x -d 'Runs of each measurement'
complete -c wcodec -n '__fish_seen_subcommand_from bench' -l sample -x -d 'Bytes of a class at most'
complete -c wcodec -n '__fish_seen_subcommand_from report' -l png -r -F -d 'The plots as a picture'
complete -c wcodec -n '__fish_seen_subcommand_from report' -l original -r -F -d 'Original of a lossy model'
complete -c wcodec -n '__fish_seen_subcommand_from report' -l no-exponents -d 'Read the index only'
