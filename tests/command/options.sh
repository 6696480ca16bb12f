#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Options: what each command takes is what its help, the man page and the completions for bash, zsh
# and fish say, no more and no less.
. "$top_srcdir/tests/command/lib.sh"
source=$top_srcdir
case $source in /*) ;; *) source=$here/$source ;; esac
commands='compress decompress list info test verify cat convert rebase vectors bench devices report help version'

# The names of all options, except those that are commands.
sed -n '/^const struct option_row option_table/,/^};/s/^ *{"\([a-z0-9-]*\)".*/\1/p' "$source/utils/option_table.c" >names
grep -v -x -e compress -e decompress -e list -e test names | sort >options
if [ "$(wc -l <options)" -gt 30 ]; then pass; else fail 'no options found in utils/option_table.c'; fi

# value_of OPTION: $value, which it may have; without a process, of which there are thousands here
value_of () {
    value=
    case $1 in
    rerank|filter|output|output-dir|include|exclude|tensor|only|filelist|png|original) value='=x' ;;
    index) value='=end' ;;
    base|from) value='=x' ;;
    base-depth) value='=8' ;;
    threads|iterations|anchors|max-iterations|seed|cooling|step|tolerance|min-changes|maintenance|queries|nearest|first-id|probes|rerank-factor|rerank-first-id|bits|vectors-anchors|vectors-bits) value='=1' ;;
    recall|vectors-recall|probes-recall) value='=0.5' ;;
    metric) value='=l2' ;;
    schedule) value='=best' ;;
    reduce) value='=plain' ;;
    memory-limit|sample) value='=1GiB' ;;
    backend) value='=cpu' ;;
    tune) value='=size' ;;
    level) value='=3' ;;
    tile) value='=4096' ;;
    profile) value='=p12' ;;
    predict|lossy|dequantize) value='=none' ;;
    lossy-scale) value='=tensor' ;;
    slice) value='=0:1' ;;
    xxh128) value='=0' ;;
    esac
}

# The truth is what the command line takes. Common options are those that every command takes.
cp options common
for command in $commands; do
    while read -r option; do
        value_of "$option"
        "$WCODEC" $command --$option"$value" >out 2>err </dev/null
        said=
        while read -r line; do said="$said $line"; done <err
        case $said in *'takes no'*) ;; *) echo "$option" ;; esac
        case $said in *'no such option'*|*value*)
            echo "$said"
            fail "--$option is not understood" ;;
        esac
    done <options >takes.$command
    comm -12 common takes.$command >both
    mv both common
done
for command in $commands; do
    comm -23 takes.$command common >own.$command
done
is "$(tr '\n' ' ' <common)" \
    'backend color help memory-limit no-progress no-sandbox quiet threads verbose version ' 'options of all commands'
is "$(tr '\n' ' ' <own.list)" 'base base-depth filelist json '

# long: the names of options among the words of a text.
long () {
    tr -c 'a-z0-9=-' '\n' | sed -n 's/^--\([a-z][a-z0-9-]*\).*/\1/p' | sort -u
}
# compare WHERE COMMAND: the names in ./said are its own options, besides common ones.
compare () {
    sort -u said | comm -23 - common >besides
    is "$(tr '\n' ' ' <besides)" "$(tr '\n' ' ' <own.$2)" "$1, $2"
}
# manual TITLE: the options in the sections of the man page whose title has these words.
manual () {
    awk -v title="$1" '
        /^\.S[sh] / {gsub(",", ""); inside = /Options/ && index($0 " ", " " title " ")}
        inside && /^\.It / {for (i = 2; i < NF; i++) if ($i == "Fl" && $(i + 1) ~ /^-/)
            print substr($(i + 1), 2)}' "$source/man/wcodec.1"
}

"$WCODEC" help | grep '^ *-' | long >said
is "$(cat said)" "$(cat common)" 'wcodec help'
manual 'for all commands' | sort -u >said
is "$(cat said)" "$(cat common)" 'man page, all commands'
for command in $commands; do
    "$WCODEC" help $command | long >said
    compare help $command
    manual $command >said
    compare 'man page' $command
done

if command -v bash >/dev/null 2>&1; then
    run 0 bash -n "$source/completions/wcodec.bash"
    cat >ask.bash <<'BASH'
source "$1"
compopt () { :; }
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_wcodec
printf '%s\n' "${COMPREPLY[@]}"
BASH
    ask () {
        bash ask.bash "$source/completions/wcodec.bash" wcodec "$@"
    }
    for command in $commands; do
        ask $command -- | long >said
        is "$(comm -12 said common | tr '\n' ' ')" "$(tr '\n' ' ' <common)" "bash, $command"
        compare bash $command
    done
    is "$(ask l)" list
    is "$(ask help de | tr '\n' ' ')" 'decompress devices '
    is "$(ask compress --pro)" '--profile='
    is "$(ask test --backend = | tr '\n' ' ')" 'auto cpu cuda opencl all '
    is "$(ask bench --backend = a | tr '\n' ' ')" 'auto all '
    is "$(ask list --backend = a)" auto
    is "$(ask vectors e | tr '\n' ' ')" 'evaluate export '
    is "$(ask vectors train --schedule = c)" compat
    # Tensors of the files that stand there.
    "$MAKE" tensors.safetensors layer.a:BF16:4:gauss layer.b:BF16:4:gauss other:F32:4:gauss || exit 99
    "$WCODEC" compress -q tensors.safetensors
    PATH=$(dirname "$WCODEC"):$PATH
    is "$(ask cat tensors.safetensors.wcodec --tensor = | tr '\n' ' ')" 'layer.a layer.b other '
    is "$(ask cat tensors.safetensors.wcodec --tensor = layer | tr '\n' ' ')" 'layer.a layer.b '
    is "$(ask cat --tensor = '$(touch touched).wcodec' | tr -d '\n')" ''
    missing touched
    # Names of files, as bash itself quotes them. A terminal is needed for that.
    mkdir files 'files/my model' 'files/my model.wcodec'
    touch 'files/a b.safetensors' 'files/*star'
    cat >terminal.py <<'PY'
import os, pty, re, select, sys
file, line = sys.argv[1:]
child, fd = pty.fork()
if child == 0:
    os.environ.update(PS1="", TERM="dumb", INPUTRC="/dev/null", HISTFILE="/dev/null")
    os.chdir("files")
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
def until(end):
    seen = b""
    while end not in seen and select.select([fd], [], [], 60)[0]:
        seen += os.read(fd, 4096)
    return seen.decode()
os.write(fd, f"bind 'set enable-bracketed-paste off'; PS1=; wcodec () {{ printf '<%s>' \"$@\"; echo '#'e''nd; }}; source '{file}'; echo re''ady\n".encode())
until(b"ready\r\n")
os.write(fd, line.encode() + b"\t")
os.write(fd, b"\n")
print("".join(re.findall("<.*>", until(b"#end\r\n").split("\n")[-2])))
os.write(fd, b"exit\n")
os.waitpid(child, 0)
PY
    complete_is () {
        is "$("$PYTHON" terminal.py "$source/completions/wcodec.bash" "$1" 2>&1)" "$2" "bash completes $1"
    }
    if "$PYTHON" -c 'import os, pty; os.close(pty.openpty()[1])' 2>/dev/null; then
        complete_is 'wcodec decompress my' '<decompress><my model>'
        complete_is 'wcodec list a' '<list><a b.safetensors>'
        complete_is 'wcodec list a\ b' '<list><a b.safetensors>'
        complete_is 'wcodec compress -o a' '<compress><-o><a b.safetensors>'
        complete_is 'wcodec compress --output=a' '<compress><--output=a b.safetensors>'
        complete_is 'wcodec compress -O my' '<compress><-O><my model>'
        complete_is 'wcodec compress \*s' '<compress><*star>'
        complete_is 'wcodec compress -n a' '<compress><-n><a b.safetensors>'
        complete_is 'wcodec dec' '<decompress>'
    else
        skip 'no Python with pseudo-terminals to complete in'
    fi
else
    skip 'no bash to complete with'
fi

if command -v zsh >/dev/null 2>&1; then
    run 0 zsh -fn "$source/completions/_wcodec"
    # Outside of the line editor: _arguments prints what it gets, and the second call is for the
    # command's own words.
    cat >ask.zsh <<'ZSH'
file=$1
shift
words=("$@")
_arguments () {
    if [[ $1 == -C ]]; then state=argument; return 1; fi
    print -rl -- "$@"
}
_describe () { print -rl -- ${(P)argv[-1]}; }
ask () { source $file; }
ask
ZSH
    for command in $commands; do
        zsh -f ask.zsh "$source/completions/_wcodec" $command >specs 2>err || fail "zsh, $command: $(cat err)"
        quiet
        [ $command = help ] || {
            sed 's/([^)]*)\(.*\)/\1/; s/\[.*//; s/^[*]*//' specs | long >said
            is "$(comm -12 said common | tr '\n' ' ')" "$(tr '\n' ' ' <common)" "zsh, $command"
            compare zsh $command
        }
    done
    zsh -f ask.zsh "$source/completions/_wcodec" bench >out; prints 'backend:(auto cpu cuda opencl all)'
    zsh -f ask.zsh "$source/completions/_wcodec" list >out; prints 'backend:(auto cpu cuda opencl)'
    zsh -f ask.zsh "$source/completions/_wcodec" help >out; prints '^decompress:'
else
    skip 'no zsh to complete with'
fi

if command -v fish >/dev/null 2>&1; then
    run 0 fish --no-execute "$source/completions/wcodec.fish"
    mkdir home
    ask () {
        HOME=$work/home fish --no-config -c 'source $argv[1]; complete -C $argv[2]' \
            "$source/completions/wcodec.fish" "$1" | cut -f1
    }
    for command in $commands; do
        ask "wcodec $command --" | long >said
        is "$(comm -12 said common | tr '\n' ' ')" "$(tr '\n' ' ' <common)" "fish, $command"
        compare fish $command
    done
    is "$(ask 'wcodec l')" list
    is "$(ask 'wcodec help de' | tr '\n' ' ')" 'decompress devices '
    is "$(ask 'wcodec compress --pro')" '--profile'
    is "$(ask 'wcodec test --backend=' | sort | tr '\n' ' ')" \
        '--backend=all --backend=auto --backend=cpu --backend=cuda --backend=opencl '
    is "$(ask 'wcodec list --backend=a')" '--backend=auto'
    "$MAKE" tensors.safetensors layer.a:BF16:4:gauss layer.b:BF16:4:gauss || exit 99
    "$WCODEC" compress -qf tensors.safetensors
    PATH=$(dirname "$WCODEC"):$PATH
    is "$(ask 'wcodec cat tensors.safetensors.wcodec --tensor=l' | sort | tr '\n' ' ')" '--tensor=layer.a --tensor=layer.b '
else
    skip 'no fish to complete with'
fi
finish
