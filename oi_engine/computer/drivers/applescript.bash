# The driver for AppleScript: a loop in bash (macOS brings 3.2) that runs each cell in an osascript of its own, on the
# terminal. The protocol is in driver.py.
requests=$OI_REQUESTS reports=$OI_REPORTS
unset OI_REQUESTS OI_REPORTS OI_TTY
# A trap, unlike a signal that is ignored, is not for child processes.
trap : INT
printf 'ready 1 osascript 1\n' >&"$reports"
while true; do
  read -r -u "$requests" word cell path
  status=$?
  # Above 128: an interrupt that came after its cell had ended.
  if ((status > 128)); then continue; fi
  if ((status != 0)); then exit 0; fi
  osascript "$path"
  status=$?
  if ((status == 0)); then
    printf 'done %s ok\n' "$cell" >&"$reports"
  else
    printf 'done %s error exit status %s\n' "$cell" "$status" >&"$reports"
  fi
done
