_howsure() {
  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
  local path="" words="" files="" others=""
  if (( COMP_CWORD > 1 )); then
    path="${COMP_WORDS[1]}"
    case "$path" in
      @families@) (( COMP_CWORD > 2 )) && path="$path ${COMP_WORDS[2]}" ;;
    esac
  fi
  case "$path" in
@cases@
  esac
  COMPREPLY=()
  if [[ " $others " == *" $before "* ]]; then
    return
  fi
  if [[ " $files " == *" $before "* || ( "$current" != -* && "$words" == -* ) ]]; then
    compopt -o filenames 2> /dev/null || true  # outside a completion there is nothing to set
    COMPREPLY=( $(compgen -f -- "$current") )
    return
  fi
  COMPREPLY=( $(compgen -W "$words" -- "$current") )
}
complete -F _howsure howsure
