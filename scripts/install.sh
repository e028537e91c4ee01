#!/usr/bin/env bash
# Installs the Debian packages that the build needs and are missing.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache python3
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  libdnnl-dev libopenblas-pthread-dev libgtest-dev
  chromium-headless-shell fonts-dejavu-core # A test opens the report page.
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "install: ${missing[*]}"
sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "install: error: these packages are missing, and neither root nor sudo is there to install them: ${missing[*]}" >&2
    exit 1
  }
  sudo=(sudo)
fi
"${sudo[@]}" apt-get update -qq
for package in "${missing[@]}"; do
  if ! apt-cache show "$package" >/dev/null 2>&1; then
    echo "install: error: apt knows no package $package; on Debian 12 the LLVM 22 packages are in the security suite: deb http://deb.debian.org/debian-security bookworm-security main" >&2
    exit 1
  fi
done
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
