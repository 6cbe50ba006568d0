# The driver for zsh: the same as shell.bash, which explains it, in zsh. Started without line editor (+Z), so that it
# reads its commands from descriptor 0; the person's own start-up files are not read.

PS1= PS2= PS4='+ ' RPS1=
unsetopt prompt_cr prompt_sp bang_hist
unset HISTFILE
typeset -gr __oi_reports=$OI_REPORTS __oi_tty=$OI_TTY
unset OI_REPORTS OI_TTY
typeset -gri __oi_line_reports=1000
typeset -g __oi_id= __oi_cell= __oi_status= __oi_line= __oi_failed=
typeset -gi __oi_lines_left=0

typeset -gr __oi_debug_trap='{ if (( __oi_lines_left > 0 && ZSH_SUBSHELL == 0 )) && '\
'[[ ${funcstack[1]-} == "$__oi_cell" && $LINENO != "$__oi_line" ]]; then __oi_line=$LINENO; (( __oi_lines_left-- )); '\
'print -r -u $__oi_reports -- "line $__oi_id $__oi_line"; fi } 2>/dev/null'

# Under `set -e` the cell ends where the shell would have ended. A trap of the person's for ERR takes this one's place;
# then the shell ends.
typeset -gr __oi_error_trap='{ __oi_failed=$? } 2>/dev/null
if (( ZSH_SUBSHELL == 0 )) && [[ -o errexit ]]; then unsetopt errexit; __oi_leave $__oi_failed; fi'

# __oi_begin ID PATH: before a cell.
__oi_begin() {
  __oi_id=$1 __oi_cell=$2 __oi_status= __oi_line= __oi_lines_left=$__oi_line_reports
}

# __oi_end ID STATUS: after a cell, however it ended.
__oi_end() {
  unsetopt errexit verbose
  __oi_lines_left=0
  local result=${__oi_status:-$2}
  if (( result == 0 )); then
    print -r -u $__oi_reports -- "done $1 ok"
  else
    print -r -u $__oi_reports -- "done $1 error exit status $result"
  fi
}

# `exit` ends the cell and keeps the shell; in a subshell it is the builtin.
exit() {
  local result=${1-$?}
  if (( ZSH_SUBSHELL > 0 )); then builtin exit $result; fi
  if [[ $result != (-|)<-> ]]; then
    print -r -u 2 -- "exit: $result: numeric argument required"
    result=2
  fi
  __oi_leave $(( result & 255 ))
}

# Ends the cell with a status, from any depth. A trap of the person's for INT is lost.
__oi_leave() {
  __oi_status=$1
  trap - INT
  kill -INT $$
}
logout() { exit "$@" }

trap "$__oi_debug_trap" DEBUG
trap "$__oi_error_trap" ZERR
print -r -u $__oi_reports -- "ready 1 zsh $ZSH_VERSION"
exec 1>/dev/null 2>&1
