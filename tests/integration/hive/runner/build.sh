#!/usr/bin/env bash
# build.sh 3|4 DIRECTORY: a Hive to run, with jars from Maven. Needs Maven and a JDK.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
version=$1 out=$2
rm -rf "$out"
mkdir -p "$out/classes" "$out/boot"
mvn -q -B -P "hive$version" -Dout="$out" process-resources
javac -d "$out/boot" Boot.java
java Shorten.java "$out/lib" "$out/classes"
shopt -s nullglob
javac -nowarn -Xlint:none -d "$out/classes" -cp "$out/lib/*" \
  Runner.java Verbs.java Held.java Rows.java Metastore.java LocalFiles.java "hive$version"/*.java
