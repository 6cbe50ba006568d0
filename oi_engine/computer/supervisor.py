"""Runs one command and leaves nothing behind: a script for ``python -I -S``, standard library only.

::

    python -I -S supervisor.py --lifeline FD --report FD [--tty FD]
        [--inner FD --told FD [--memory MB] [--processes N] [--workspace FD]] -- command [argument …]

The command gets a session of its own and inherits every open descriptor but those named in the options. The one of
``--tty`` becomes its controlling terminal. When it ends, or when the last writer of the lifeline is
gone (the owner died, however it died), or on SIGTERM or SIGHUP, every descendant is stopped and then killed, those
included that called ``setsid`` or ignore SIGHUP: on Linux orphans come back here (PR_SET_CHILD_SUBREAPER) and are
found in ``/proc``. Then the script exits with the command's status (128 + N after signal N). SIGINT is not for it.

The report is lines of ASCII: ``started PID`` or ``failed ERRNO TEXT`` (the command could not be run), then
``exited STATUS`` the moment that the command ends, -N for signal N, and end of file when all is gone.

``--inner`` and ``--told``, the ends of a pipe, mean that the command is bubblewrap: what runs in it writes its process
id, as it is in there, to ``told``. PID is then what that process is called out here, and its end is what is reported.
``--memory`` and ``--processes`` bound what is in there, all together: memory that is its own (the proportional share of
what processes have in common), and threads. They are looked at four times a second, and for root more often. Passing
one is reported as ``limit NAME``, and is the end.

``--workspace`` is the sandbox's folder, with a shared lock (``guards``): what was made in it goes when all is gone.

Should the script itself be killed with SIGKILL, the command dies with it (PR_SET_PDEATHSIG); what the command started
may then live on. A descendant that another user owns (``sudo``) cannot be killed and is left after ``_GIVE_UP``.

macOS (written from its documentation, not tested): there is no subreaper, so the process groups of descendants are
remembered by a scan of ``ps`` once a second and are killed at the end; a daemon that changes its group and loses its
parent between two scans escapes.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
import time

GUARDED = (".git", ".vscode", ".oi")
"""What a sandbox makes where it is missing: the same as in ``safety.programs``, which cannot be imported here."""
_LOOK_SECONDS = 0.25
_LOOK_SECONDS_AT_ROOT = 0.1
"""For root the kernel bounds no number of processes (RLIMIT_NPROC): a fork bomb makes hundreds in a quarter second."""
_GIVE_UP = 3.0
"""Seconds after which descendants that do not die are left alone."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LINUX = sys.platform == "linux"
_NOT_STARTED = 127


def main(arguments: list[str]) -> int:
    """Run the command of ``arguments`` (as in the module's docstring) to its end; its exit status."""
    options, command = _parse(arguments)
    lifeline, report = options["--lifeline"], options["--report"]
    for name in ("--lifeline", "--report", "--tty", "--inner", "--workspace"):
        if name in options:
            os.set_inheritable(options[name], False)
    wake, waker = _catch_signals()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = _start(command, options, report)
    if child is None:
        return _NOT_STARTED
    limits = _Limits(options.get("--memory"), options.get("--processes"), report)
    workspace = options.get("--workspace", lifeline)
    _let_go_of_descriptors({lifeline, report, wake, waker, workspace})
    groups = {child}
    status = _watch(child, lifeline, wake, groups, limits)
    if status is not None:
        if "--inner" in options and status > 128:
            status = 128 - status  # bubblewrap's word for a signal
        _tell(report, f"exited {status}")
    left = _end_descendants(child, groups)
    if status is None:
        status = left if left is not None else -signal.SIGKILL
        _tell(report, f"exited {status}")
    if "--workspace" in options and not _descendants(groups):
        give_back(workspace)
    return status if status >= 0 else 128 - status


def _parse(arguments: list[str]) -> tuple[dict[str, int], list[str]]:
    end = arguments.index("--")
    pairs = arguments[:end]
    return dict(zip(pairs[::2], map(int, pairs[1::2]), strict=True)), arguments[end + 1 :]


def _catch_signals() -> tuple[int, int]:
    """Turn the signals that matter into bytes on a pipe; its reading and its writing end."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        # A handler, not SIG_IGN: what is ignored here would be ignored in the command too.
        signal.signal(number, lambda *_: None)
    return reader, writer


def _prctl(option: int, value: int) -> None:
    """The system call of that name; elsewhere than on Linux nothing."""
    if _LINUX:
        import ctypes

        ctypes.CDLL(None).prctl(option, value)


def _start(command: list[str], options: dict[str, int], report: int) -> int | None:
    """Start the command and report how that went; its process id, or ``None`` where it could not be run."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(command, options.get("--tty"), writer)
    os.close(writer)
    with os.fdopen(reader) as errors:
        failure = errors.read()
    known = pid
    if "--inner" in options and not failure:
        os.close(options["--told"])
        with os.fdopen(options["--inner"]) as told:
            inside = told.readline().strip()
        known = _outside(int(inside)) if inside else 0
        if not known:
            failure = "0 the sandbox could not be set up"
            os.kill(pid, signal.SIGKILL)
    if failure:
        os.waitpid(pid, 0)
        _tell(report, f"failed {failure}")
        return None
    _tell(report, f"started {known}")
    return pid


def _outside(inside: int) -> int:
    """The process id, out here, of the descendant that has the id ``inside`` in the sandbox; 0 where it is gone."""
    for pid in _descendants(set()):
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
                numbers = next((line.split()[1:] for line in status if line.startswith("NSpid:")), [])
        except OSError:
            continue  # it ended in between
        if len(numbers) > 1 and int(numbers[-1]) == inside:
            return pid
    return 0


class _Limits:
    """What the descendants may use together; ``None``: as much as there is. ``memory`` in megabytes."""

    def __init__(self, memory: int | None, processes: int | None, report: int) -> None:
        self._memory, self._processes, self._report = memory, processes, report
        self.any = memory is not None or processes is not None
        self.pause = _LOOK_SECONDS if processes is None or os.geteuid() != 0 else _LOOK_SECONDS_AT_ROOT

    def passed(self) -> bool:
        """Whether one is passed now, which is reported."""
        pids, threads = _own_descendants(self._processes)
        if self._processes is not None and threads > self._processes:
            _tell(self._report, "limit processes")
            return True
        anonymous = 0
        for pid in pids:
            pages = _read(f"/proc/{pid}/statm").split()
            anonymous += int(pages[1]) - int(pages[2]) if len(pages) > 2 else 0
        # Pages that processes share were counted once for each: the exact number takes longer, and is seldom needed.
        if self._memory is None or anonymous * os.sysconf("SC_PAGE_SIZE") <= self._memory * 1024 * 1024:
            return False
        if sum(map(_kilobytes, pids)) <= self._memory * 1024:
            return False
        _tell(self._report, "limit memory")
        return True


def _kilobytes(pid: int) -> int:
    """A process's own memory and its share of what it has in common with others."""
    found = 0
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(("Pss_Anon:", "Pss_Shmem:", "SwapPss:")):
            found += int(line.split()[1])
    return found


def _own_descendants(most: int | None) -> tuple[list[int], int]:
    """The same as ``_descendants``, from what each process says of its children: that costs less, and may miss one.

    Also how many threads they have; once there are more than ``most`` nobody looks on.
    """
    waiting, found = [os.getpid()], []
    count = -1  # this process is none of them
    while waiting and (most is None or count <= most):
        pid = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue  # it ended in between
        count += len(threads)
        for thread in threads:
            children = [int(child) for child in _read(f"/proc/{pid}/task/{thread}/children").split()]
            found += children
            waiting += children
    return found, count


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""  # the process has ended


def _become(command: list[str], tty: int | None, failed: int) -> None:
    """In the forked child: turn into the command, or write ``ERRNO TEXT`` to ``failed``; does not return."""
    try:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.setsid()
        if tty is not None:
            import fcntl
            import termios

            fcntl.ioctl(tty, termios.TIOCSCTTY, 0)
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(failed, f"{error.errno} {error.strerror}".encode(errors="replace"))
    finally:
        os._exit(_NOT_STARTED)


def _let_go_of_descriptors(keep: set[int]) -> None:
    """Close the command's copies here, so that its end is seen at the other ends at once; leave no folder busy."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        if descriptor not in keep:
            os.dup2(nothing, descriptor)
    for name in os.listdir("/proc/self/fd" if _LINUX else "/dev/fd"):
        descriptor = int(name)
        if descriptor > 2 and descriptor not in keep:
            try:
                os.close(descriptor)
            except OSError:
                pass  # the descriptor of the listing itself
    os.chdir("/")


def _watch(child: int, lifeline: int, wake: int, groups: set[int], limits: _Limits) -> int | None:
    """Wait for the command's end (its status, -N for signal N) or for a reason to end it (``None``)."""
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(wake, select.POLLIN)
    pause = limits.pause * 1000 if limits.any else None if _LINUX else 1000
    while True:
        ready = dict(poll.poll(pause))
        if not ready and limits.any and limits.passed():
            # With bubblewrap all that is in it dies at once, however fast it multiplies.
            os.kill(child, signal.SIGKILL)
            return None
        if wake in ready:
            signals = os.read(wake, 512)
            status = _reap(child)
            if status is not None:
                return status
            if signal.SIGTERM in signals or signal.SIGHUP in signals:
                return None
        if lifeline in ready and not os.read(lifeline, 512):
            return None
        if not _LINUX:
            _descendants(groups)


def _reap(child: int) -> int | None:
    """Bury whatever has ended; the command's status if it is among them."""
    status = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == child:
            status = os.waitstatus_to_exitcode(ended)


def _end_descendants(child: int, groups: set[int]) -> int | None:
    """Stop, then kill, until none is left or time is up; the command's status if it ended here."""
    deadline = time.monotonic() + _GIVE_UP
    status = None
    while time.monotonic() < deadline:
        # Stopped first, so that none can start another while the rest are killed.
        stopped: set[int] = set()
        while new := _descendants(groups) - stopped:
            _signal_all(new, signal.SIGSTOP)
            stopped |= new
        if not stopped:
            break
        _signal_all(stopped, signal.SIGKILL)
        while _descendants(groups) & stopped and time.monotonic() < deadline:
            ended = _reap(child)
            status = ended if ended is not None else status
            time.sleep(0.001)
    ended = _reap(child)
    return ended if ended is not None else status


def give_back(workspace: int) -> None:
    """Remove the folders that were made in a workspace for sandboxes, where this is the last one there.

    ``workspace``: a descriptor with a lock. A folder that something is in by now is the person's, and is so marked.
    """
    import fcntl

    try:
        fcntl.flock(workspace, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    for name in GUARDED:
        try:
            folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=workspace)
        except OSError:
            continue  # it is not there, or no folder
        about = os.fstat(folder)
        if about.st_mode & stat.S_ISVTX and about.st_uid == os.geteuid():
            try:
                os.rmdir(name, dir_fd=workspace)
            except OSError:
                os.fchmod(folder, stat.S_IMODE(about.st_mode) & ~stat.S_ISVTX)
        os.close(folder)


def _signal_all(pids: set[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass  # it has ended, or belongs to another user


def _descendants(groups: set[int]) -> set[int]:
    """Every living process that descends from this one. ``groups`` (macOS): the process groups seen so far; grows."""
    children: dict[int, list[int]] = {}
    found: set[int] = set()
    for pid, parent, group in _processes() if _LINUX else _processes_by_ps():
        children.setdefault(parent, []).append(pid)
        if not _LINUX and group in groups:
            found.add(pid)
    waiting = [os.getpid(), *found]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in found:
                found.add(pid)
                waiting.append(pid)
    if not _LINUX:
        groups.update(group for pid, _, group in _processes_by_ps() if pid in found)
    return found


def _processes() -> list[tuple[int, int, int]]:
    """(process, parent, group) of all that live, from ``/proc/PID/stat`` (proc(5)); zombies are not alive."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The second field, the program's name in parentheses, may hold anything.
                fields = file.read().rpartition(b") ")[2].split()
        except OSError:
            continue  # it ended in between
        # A process whose first thread alone has ended looks like a zombie with more than one thread.
        if len(fields) > 17 and (fields[0] not in b"ZX" or int(fields[17]) > 1):
            found.append((int(name), int(fields[1]), int(fields[2])))
    return found


def _processes_by_ps() -> list[tuple[int, int, int]]:
    reader, writer = os.pipe()
    ps = os.posix_spawnp(
        "ps",
        ["ps", "-axo", "pid=,ppid=,pgid=,state="],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)],
    )
    os.close(writer)
    with os.fdopen(reader) as output:
        rows = [line.split() for line in output]
    os.waitpid(ps, 0)
    mine = (os.getpid(), ps)
    return [
        (int(pid), int(parent), int(group))
        for pid, parent, group, state in rows
        if int(pid) not in mine and not state.startswith("Z")
    ]


def _tell(report: int, line: str) -> None:
    try:
        os.write(report, line.encode() + b"\n")
    except OSError:
        pass  # the owner is gone: nobody reads


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
