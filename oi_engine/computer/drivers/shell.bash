# The driver for bash, read by an interactive bash in place of the person's own start-up files. The protocol is in
# driver.py. Descriptor 0 is the request pipe: bash reads its commands there, so that what a cell defines lives on and an
# interrupt comes back to the next line, which reports. Cells get the terminal as descriptors 0, 1 and 2, each time anew;
# between them 1 and 2 lead nowhere, so that traces (`set -x`) of the requests are not seen.
#
# Names of the driver begin with __oi_.

PS1= PS2= PS4='+ '
set +o history +H
unset HISTFILE
readonly __oi_reports=$OI_REPORTS __oi_tty=$OI_TTY
unset OI_REPORTS OI_TTY
# Traps of the driver reach into functions (-E, -T).

# Commands whose line is reported for each cell: a report takes about 25 microseconds, too much for a hot loop.
readonly __oi_line_reports=1000
# Traps are strings of one line each: LINENO counts the lines in them, too.
readonly __oi_debug_trap='{ if ((--__oi_lines_left < 0)); then builtin trap - DEBUG; '\
'elif [[ $BASH_SUBSHELL == 0 && ${#BASH_SOURCE[@]} == 1 && $BASH_SOURCE == "$__oi_cell" '\
'&& $LINENO != "$__oi_line" ]]; then '\
'__oi_line=$LINENO; builtin printf "line %s %s\n" "$__oi_id" "$__oi_line" >&"$__oi_reports"; fi; :; } 2>/dev/null'

# Under `set -e` the cell ends where the shell would have ended; in a subshell bash itself sees to it.
readonly __oi_error_trap='{ __oi_failed=$?; } 2>/dev/null; '\
'if [[ $BASH_SUBSHELL == 0 && $- == *e* ]]; then set +e; __oi_ending=1; fi; '\
'if [[ -n ${__oi_user_error-} && ${#BASH_SOURCE[@]} == 1 ]]; then '\
'__oi_return "$__oi_failed"; builtin eval "$__oi_user_error"; fi; '\
'if [[ $BASH_SUBSHELL == 0 && -n ${__oi_ending-} ]]; then return "$__oi_failed" 2>/dev/null; fi'

# __oi_begin ID PATH: before a cell.
__oi_begin() {
  __oi_id=$1 __oi_cell=$2 __oi_status= __oi_ending= __oi_interrupt_trap= __oi_line=
  __oi_lines_left=$__oi_line_reports
  set -E
  builtin trap "$__oi_error_trap" ERR
  if [[ -z ${__oi_user_debug-} ]]; then
    set -T
    builtin trap "$__oi_debug_trap" DEBUG
  fi
  return "${__oi_last-0}"
}

__oi_return() { return "$1"; }

# __oi_end ID STATUS: after a cell, however it ended.
__oi_end() {
  set +e +v
  [[ -n ${__oi_user_debug-} ]] || builtin trap - DEBUG
  [[ -z $__oi_interrupt_trap ]] || builtin eval "$__oi_interrupt_trap"
  local status=${__oi_status:-$2}
  if ((status == 0)); then
    builtin printf 'done %s ok\n' "$1" >&"$__oi_reports"
  else
    builtin printf 'done %s error exit status %s\n' "$1" "$status" >&"$__oi_reports"
  fi
  __oi_last=$status
}

# `exit` ends the cell and keeps the shell; in a subshell it is the builtin.
exit() {
  local status=${1-$?} action
  if ((BASH_SUBSHELL > 0)); then builtin exit "$status"; fi
  if [[ ! $status =~ ^-?[0-9]+$ ]]; then
    builtin printf 'exit: %s: numeric argument required\n' "$status" >&2
    status=2
  fi
  action=$(builtin trap -p EXIT)
  if [[ -n $action ]]; then
    builtin trap - EXIT
    builtin eval "set -- $action"
    builtin eval "$3"
  fi
  __oi_status=$((status & 255))
  # An interrupt is the one way to the top from any depth. A trap of the person's for it is put back afterwards.
  __oi_interrupt_trap=$(builtin trap -p INT)
  builtin trap - INT
  builtin kill -INT "$BASHPID"
}
logout() { exit "$@"; }

# The person's traps for ERR live beside the driver's, those for DEBUG in its place. Set last, and without inheritance:
# otherwise they would see the inside of this function.
trap() {
  local -a given=("$@")
  if [[ ${1-} == -- ]]; then shift; fi
  local action=${1-} name
  if (($# == 1)); then action=-; elif (($# > 1)); then shift; fi
  if [[ $action != -[pl]* ]]; then
    if [[ $action == - ]]; then action=; fi
    for name; do
      case ${name^^} in
        ERR)
          __oi_user_error=$action
          return
          ;;
        DEBUG)
          __oi_user_debug=$action
          set +T
          ;;
      esac
    done
  fi
  builtin trap "${given[@]}"
}

readonly -f __oi_begin __oi_end __oi_return
builtin printf 'ready 1 bash %s\n' "$BASH_VERSION" >&"$__oi_reports"
exec 1>/dev/null 2>&1
