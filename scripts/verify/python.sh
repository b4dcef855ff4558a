#!/usr/bin/env bash
# Prints the path of a Python that has exactly the packages of
# scripts/verify/requirements-NAME.txt, NAME being the argument: the one of PATH, else that
# of .reveille/venv-NAME, which is made when it is missing. What that file says behind
# "# imports:" must be importable. Says what is missing and fails when neither works.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=$1
wanted=$PWD/scripts/verify/requirements-$name.txt
venv=$PWD/.reveille/venv-$name

# check prints the path of a Python that will do, or says why it will not.
check() {
	"$1" - "$wanted" <<-'END'
		import importlib, importlib.metadata, re, sys
		modules = []
		for line in open(sys.argv[1]):
		    if line.startswith("# imports:"):
		        modules = line.removeprefix("# imports:").split()
		    pinned = re.match(r"([\w-]+)(?:\[\w+\])?==(\S+)", line)
		    if not pinned:
		        continue
		    name, version = pinned.groups()
		    try:
		        found = importlib.metadata.version(name)
		    except importlib.metadata.PackageNotFoundError:
		        sys.exit(f"{name} {version} is not installed")
		    if found != version:
		        sys.exit(f"{name} is {found}, not {version}")
		try:
		    for module in modules:
		        importlib.import_module(module)
		except ImportError as e:
		    sys.exit(str(e))
		print(sys.executable)
	END
}

python=$(command -v python3 || true)
if [ -z "$python" ]; then
	echo "python: python3 is not on PATH" >&2
	exit 1
fi
if answer=$(check "$python" 2>&1); then
	echo "$answer"
	exit
fi
if [ -x "$venv/bin/python" ] && check "$venv/bin/python" 2>/dev/null; then exit; fi
echo "python: $python: $(echo "$answer" | tail -n 1); installing into .reveille/venv-$name" >&2
mkdir -p .reveille
rm -rf "$venv"
if ! "$python" -m venv "$venv" >&2; then
	echo "python: $python cannot make a virtual environment: its module venv is missing or incomplete" >&2
	exit 1
fi
if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --requirement "$wanted" >&2; then
	echo "python: missing and not installable: $(grep -v '^#' "$wanted" | tr '\n' ' ')" >&2
	exit 1
fi
check "$venv/bin/python"
