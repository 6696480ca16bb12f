# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Completion of wcodec for bash.

# The names of the tensors in the .wcodec files and folders among these words, as far as they stand
# in JSON without escapes. Words are as they were typed: quotes are taken off, nothing is expanded.
_wcodec_tensors () {
    local word
    for word; do
        word=${word//[\\\'\"]/}
        [[ $word == *.wcodec* && -e $word ]] && wcodec list --json -- "$word" 2>/dev/null |
            sed -n 's/^{"name":"\([^"\\]*\)","dtype".*/\1/p'
    done
}

_wcodec () {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' values='' i
    local commands='compress decompress list info test verify cat extract convert rebase vectors bench devices report help version'
    local common='--threads= --backend= --memory-limit= --quiet --verbose --no-progress --no-sandbox --color= --help --version'
    local output='--output= --stdout --force --no-sync'
    COMPREPLY=()

    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        compress|decompress|list|info|test|verify|cat|extract|convert|rebase|vectors|bench|devices|report|help|version) command=${COMP_WORDS[i]}; break ;;
        -z) command=compress; break ;;
        -d) command=decompress; break ;;
        -l) command=list; break ;;
        -t) command=test; break ;;
        esac
    done

    # "--name=value" reaches us as three words, unless "=" was taken out of COMP_WORDBREAKS.
    local option=$previous value=$word
    if [[ $word == = ]]; then
        value=''
    elif [[ $previous == = && $COMP_CWORD -ge 2 ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $word == --*=* ]]; then
        option=${word%%=*} value=${word#*=}
    fi
    case $option in
    --backend)
        [[ $command == bench || $command == test ]] && values=' all'
        COMPREPLY=($(compgen -W "auto cpu cuda opencl$values" -- "$value"))
        return
        ;;
    --schedule) COMPREPLY=($(compgen -W 'best compat' -- "$value")); return ;;
    --reduce) COMPREPLY=($(compgen -W 'trimmed plain' -- "$value")); return ;;
    --color) COMPREPLY=($(compgen -W 'auto always never' -- "$value")); return ;;
    --tune) COMPREPLY=($(compgen -W 'size latency compute-fixed compute' -- "$value")); return ;;
    --tile) COMPREPLY=($(compgen -W '4096 8192 16384 32768 65536' -- "$value")); return ;;
    --profile) COMPREPLY=($(compgen -W 'auto pairs p12 p8' -- "$value")); return ;;
    --predict) COMPREPLY=($(compgen -W 'auto none left top average planar paeth wht' -- "$value")); return ;;
    --level) COMPREPLY=($(compgen -W '1 2 3 4 5 6 7 8 9' -- "$value")); return ;;
    --lossy) COMPREPLY=($(compgen -W 'none snr: error: bits:' -- "$value")); return ;;
    --dequantize) COMPREPLY=($(compgen -W 'none f16 bf16 f32' -- "$value")); return ;;
    --lossy-scale) COMPREPLY=($(compgen -W 'tensor row' -- "$value")); return ;;
    # No words of ours: bash completes names itself then, with spaces and all that must be quoted.
    -O|--output-dir) compopt -o dirnames; return ;;
    -o|--output|--png|--original|--rerank|--filter|--base) compopt -o default; return ;;
    --tensor)
        mapfile -t COMPREPLY < <(_wcodec_tensors "${COMP_WORDS[@]:1}" | grep -F -e "$value" | while read -r i; do
            [[ $i == "$value"* ]] && printf '%q\n' "$i"
        done)
        return
        ;;
    -n) [[ $command == bench ]] && return ;; # compress's takes no value
    -T|--threads|--iterations|--memory-limit|--base-depth|--anchors|--max-iterations|--seed|--cooling|--step|--tolerance|--min-changes|--maintenance|--queries|--nearest|--sample|--probes-recall|--rerank-factor|--rerank-first-id|--only|--slice|--xxh128|--vectors|--vectors-anchors|--vectors-bits|--vectors-recall|--include|--exclude) return ;;
    esac

    if [[ $word == -* ]]; then
        local options=$common
        case $command in
        compress) options+=" --json $output --output-dir= --recursive --keep --rm --level= --fast --best --tune= --tile= --profile= --predict= --lossy= --lossy-scale= --vectors --vectors-anchors= --vectors-bits= --vectors-recall= --include= --exclude= --name --no-name --raw --strict --no-verify --base= --base-depth= --index= --tensor= --only= --filelist=" ;;
        decompress) options+=" --json $output --output-dir= --recursive --keep --rm --base= --base-depth= --tensor= --only= --filelist= --keep-going --no-checksum" ;;
        cat|extract) options+=" $output --base= --base-depth= --tensor= --slice= --no-checksum" ;;
        rebase) options+=" --json $output --recursive --base= --base-depth= --from=" ;;
        vectors) options+=' --json --output= --force --no-sync --tensor= --anchors= --schedule= --max-iterations= --seed= --reduce= --cooling= --step= --tolerance= --min-changes= --maintenance= --queries= --nearest= --bits= --recall= --first-id= --metric= --probes= --probes-recall= --filter= --rerank= --rerank-factor= --rerank-first-id=' ;;
        convert) options+=" --json $output --base= --base-depth= --recursive --dequantize=" ;;
        list|info) options+=' --base= --base-depth= --json --filelist=' ;;
        devices|version) options+=' --json' ;;
        test) options+=' --base= --base-depth= --json --recursive --quick --filelist=' ;;
        verify) options+=' --base= --base-depth= --json --recursive --xxh128=' ;;
        bench) options+=' --json --iterations= --sample= --recurrent --level= --fast --best --tune= --tile= --profile= --predict=' ;;
        report) options+=' --output= --force --png= --original= --no-exponents' ;;
        esac
        COMPREPLY=($(compgen -W "$options" -- "$word"))
        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
        return
    fi
    if [[ -z $command ]]; then
        COMPREPLY=($(compgen -W "$commands" -- "$word"))
        return
    fi
    case $command in
    help) COMPREPLY=($(compgen -W "$commands" -- "$word")) ;;
    devices|version) ;;
    vectors)
        [[ $previous == vectors ]] && COMPREPLY=($(compgen -W 'train info evaluate export compress add remove compact search' -- "$word"))
        [[ $previous == vectors ]] || compopt -o default
        ;;
    *) compopt -o default ;;
    esac
}
complete -F _wcodec wcodec
