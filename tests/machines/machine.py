"""Whole Debian machines with systemd as PID 1, by systemd-nspawn, each in a network of its own that
reaches out by NAT. The mirror, the resolver, the certificates and pip's settings are the host's.
"""

import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAMS = ["debootstrap", "systemd-nspawn", "nsenter", "setpriv", "unshare"]
PROGRAMS += ["ip", "iptables", "zstd"]
# Less than an installer leaves: what a guide needs beside it, the guide has to name.
PACKAGES = "ca-certificates,dbus,init"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PIP = ["PIP_CERT", "PIP_DEFAULT_TIMEOUT", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"]
TERMINAL = ["HOME=/root", "USER=root", "LOGNAME=root", "LANG=C.UTF-8", "TERM=dumb"]
TERMINAL += ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
UP = {"running", "degraded"}
PATIENCE = 300  # seconds for a command
# What is started so ends with these tests, however they end, and so do its children and mounts.
ALONE = ["setpriv", "--pdeathsig", "KILL"]
ALONE += ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


def do(*words):
    """Run a program of the host's; what it says is in the error if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {(done.stdout + done.stderr)[-3000:]}"
    return done.stdout


def children(pid):
    """The numbers of its child processes, the oldest first."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def pack(folder, archive):
    do("tar", "-C", str(folder), "--numeric-owner", "--xattrs", "--zstd", "-cf", str(archive), ".")


def unpack(archive, folder):
    folder.mkdir()
    do("tar", "-C", str(folder), "--numeric-owner", "--xattrs", "--zstd", "-xpf", str(archive))


def fresh_debian(release, folder):
    """The packed root of a Debian, which is made in this folder if it is not there."""
    archive = folder / f"{release}.tar.zst"
    if not archive.exists():
        targets = do("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)")
        mirror = re.search(r"^Debian (\S+)$", targets, re.MULTILINE)[1]
        options = ["--variant=minbase", f"--include={PACKAGES}"]
        with tempfile.TemporaryDirectory(dir=folder) as new:
            root, part = Path(new, "root"), Path(new, "packed")
            do(*ALONE, "debootstrap", *options, release, str(root), mirror)
            pack(root, part)
            part.rename(archive)
    return archive


class Machine:
    """`root` is its file system; the host reaches it at `address`, and it the host at `gateway`."""

    def __init__(self, folder, name, archive, *options):
        self.name, self.root, self.console = name, folder / name, folder / f"{name}.console"
        self.options, self.nspawn, self.terminals, self.undo = options, None, [], []
        self.archive = archive

    def make(self):
        unpack(self.archive, self.root)
        self.write("/etc/hostname", f"{self.name}\n")
        self.write("/etc/hosts", f"127.0.0.1 localhost {self.name}\n::1 localhost\n")
        self.write("/etc/machine-id", "")
        for path in ("/etc/resolv.conf", CERTIFICATES, "/etc/pip.conf"):
            if Path(path).exists():
                self.write(path, Path(path).read_text())
        known = [f"export {name}='{os.environ[name]}'\n" for name in PIP if name in os.environ]
        self.write("/etc/profile.d/pip.sh", "".join(known))
        self.connect()

    def write(self, path, text):
        there = self.root / path.lstrip("/")
        there.unlink(missing_ok=True)  # it may be a link
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_text(text)

    def connect(self):
        """Lay a cable to the host, in a subnet that no other machine has."""
        for number in range(1, 255):
            self.network, self.cable = f"machine-{number}", f"machine{number}"
            if not Path("/sys/class/net", self.cable).exists():
                break
        self.gateway, self.address = f"10.78.{number}.1", f"10.78.{number}.2"
        self.undo.append(["ip", "netns", "delete", self.network])  # and with it the cable
        do("ip", "netns", "add", self.network)
        do("ip", "link", "add", self.cable, "type", "veth", "peer", "host0", "netns", self.network)
        do("ip", "address", "add", f"{self.gateway}/30", "dev", self.cable)
        do("ip", "link", "set", self.cable, "up")
        there = ["ip", "-n", self.network]
        do(*there, "link", "set", "lo", "up")
        do(*there, "link", "set", "host0", "up")
        do(*there, "address", "add", f"{self.address}/30", "dev", "host0")
        do(*there, "route", "add", "default", "via", self.gateway)
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        outwards = ["-s", self.address, "!", "-o", "machine+"]
        rules = [
            ["POSTROUTING", "-t", "nat", *outwards, "-j", "MASQUERADE"],
            ["FORWARD", "-i", self.cable, "-j", "ACCEPT"],
            ["FORWARD", "-o", self.cable, "-j", "ACCEPT"],
        ]
        for rule in rules:
            self.undo.append(["iptables", "-w", "-D", *rule])
            do("iptables", "-w", "-I", *rule)

    def boot(self):
        """Start it, and wait until systemd has started its units."""
        command = [*ALONE, "systemd-nspawn", "--boot", "--quiet"]
        command += ["--directory", str(self.root), "--machine", self.name, "--console=pipe"]
        command += ["--register=no", "--keep-unit", "--resolv-conf=off", "--timezone=off"]
        if not self.options:  # with it, programs like Docker may not open files with O_SYNC
            command += ["--suppress-sync=yes"]
        command += [f"--network-namespace-path=/run/netns/{self.network}", *self.options]
        more = {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
        if self.options:  # a Docker daemon routes
            more["SYSTEMD_NSPAWN_API_VFS_WRITABLE"] = "yes"
        with self.console.open("ab") as console:
            self.nspawn = subprocess.Popen(
                command,
                env=os.environ | more,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
            )
        deadline = time.monotonic() + 120
        while (state := self.run("systemctl is-system-running", check=False).strip()) not in UP:
            said = f"{self.name} is {state}: {self.console.read_text()[-3000:]}"
            assert time.monotonic() < deadline, said
            assert self.nspawn.poll() is None, said
            time.sleep(0.2)
        return self

    def stop(self):
        """Power it off."""
        while self.terminals:
            self.terminals.pop().close()
        if self.nspawn and self.nspawn.poll() is None:
            self.run("systemctl poweroff", check=False)
            self.nspawn.wait(90)

    def remove(self):
        """All of it, or what there is: it may be half made."""
        if self.nspawn and self.nspawn.poll() is None:
            for nspawn in children(self.nspawn.pid):
                os.kill(nspawn, signal.SIGKILL)  # which is over when all that runs there is gone
            self.nspawn.wait()
        while self.terminals:
            self.terminals.pop().close()
        while self.undo:
            subprocess.run(self.undo.pop(), capture_output=True, check=False)
        if self.root.exists():
            do("rm", "-rf", "--one-file-system", str(self.root))
        self.console.unlink(missing_ok=True)

    def command(self, *words):
        """The words of a command on the host that runs this one in the machine, as root."""
        init = children(children(self.nspawn.pid)[0])[0]
        return ["nsenter", "-t", str(init), "-a", "--", "env", "-i", *TERMINAL, *words]

    def run(self, script, check=True):
        """What the script says, for what a test wants to know; guides are typed at a Terminal."""
        try:
            command = self.command("bash", "-lc", script)
        except (IndexError, FileNotFoundError):  # there is no PID 1, yet or any more
            assert not check
            return ""
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0 or not check, f"{script}: {said[-3000:]}"
        return said


def split_commands(block):
    """The commands of a block, each as it would be typed up to its last Enter."""
    command = ""
    for line in block.splitlines():
        command += f"{line}\n"
        whole = subprocess.run(["bash", "-nc", command], capture_output=True, check=False)
        if whole.returncode == 0 and not line.endswith("\\"):
            if command.strip():
                yield command
            command = ""
    assert not command, command


class Terminal:
    """A log-in shell at a terminal of a machine, and a person who types at it."""

    ENDED = re.compile(r"<<(\d+)>>")  # what the shell shows after a command: its status

    def __init__(self, machine):
        prompt = r"PROMPT_COMMAND=printf '\n<<%d>>\n' $?"
        self.master, there = pty.openpty()
        command = ["setsid", "--ctty", "--wait", *machine.command(prompt, "bash", "-l")]
        self.shell = subprocess.Popen(command, stdin=there, stdout=there, stderr=there)
        os.close(there)
        machine.terminals.append(self)
        self.shown, self.seen = "", 0
        self.wait_for(self.ENDED)

    def type(self, block, *answers):
        """Type the commands, and each answer after its question; each command must succeed.

        An answer is a pair: a pattern of the question, and a text.
        """
        waiting = list(answers)
        for command in split_commands(block):
            self.shown, self.seen = "", 0
            os.write(self.master, command.encode())
            while waiting and (found := self.wait_for(waiting[0][0], self.ENDED)).re != self.ENDED:
                os.write(self.master, f"{waiting.pop(0)[1]}\n".encode())
            found = found if waiting else self.wait_for(self.ENDED)
            assert found[1] == "0", self.shown
        assert not waiting, f"it did not ask {waiting}"
        return self.shown

    def wait_for(self, *patterns):
        """The first match, beyond the one before, in what is shown since the command."""
        deadline, matching = time.monotonic() + PATIENCE, [re.compile(it) for it in patterns]
        while not (found := [m for it in matching if (m := it.search(self.shown, self.seen))]):
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"nothing comes after: {self.shown}"
            self.shown += os.read(self.master, 65536).decode(errors="replace")
        first = min(found, key=lambda match: match.start())
        self.seen = first.end()
        return first

    def close(self):
        os.close(self.master)  # hangs up
        self.shell.wait(30)
