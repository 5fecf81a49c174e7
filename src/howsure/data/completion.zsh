_howsure() {
  local path="" named
  if (( CURRENT > 2 )); then
    path="${words[2]}"; shift words; (( CURRENT-- ))
    case "$path" in
      @families@) if (( CURRENT > 2 )); then path="$path ${words[2]}"; shift words; (( CURRENT-- )); fi ;;
    esac
  fi
  case "$path" in
@cases@
  esac
}
compdef _howsure howsure
