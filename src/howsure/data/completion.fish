function __howsure_at
  set -l typed (commandline -opc)
  test (count $typed) -gt (count $argv); or return 1
  for i in (seq (count $argv)); test $typed[(math $i + 1)] = $argv[$i]; or return 1; end
end
@cases@
