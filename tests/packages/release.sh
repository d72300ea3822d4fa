# shellcheck shell=bash
# Releases: sourced by run.sh, with its work, expect, packages, root, debs and version.

# A SENTENCE COMMAND...: fails with this sentence.
refuses() {
  local sentence=$1
  shift
  ! "$@" >"$work/said" 2>&1 && grep -F -- "$sentence" "$work/said"
}

# ---- Licence, no path of a build, SBOM

for package in "${packages[@]}"; do
  expect "$package carries the licence" cmp "$root/usr/share/doc/$package/Apache-2.0" /usr/share/common-licenses/Apache-2.0
  sbom=$(ls "$debs/${package}_${version}_"*.spdx.json)
  mapfile -t programs < <(cd "$work/only/$package" && find . -type f -path '*/bin/*' -printf "$build/bin/%f\n")
  expect "$package has an SBOM with each library that it links" \
    /usr/bin/python3 "$here/sbom_check.py" "$sbom" "${programs[@]}"
done
no_path() { ! grep -rlaF -e "$build" -e "$top/" "$root/usr/bin" "$root/usr/lib"; }
expect "no program names the folder in which it was built" no_path
lack_library() {
  python3 - "$sbom" "$work/lacks.json" <<'TEXT'
import json, sys
sbom = json.load(open(sys.argv[1]))
left_out = next(p["SPDXID"] for p in sbom["packages"] if p["name"] == "libssl3")
sbom["packages"] = [p for p in sbom["packages"] if p["SPDXID"] != left_out]
sbom["relationships"] = [r for r in sbom["relationships"] if r["relatedSpdxElement"] != left_out]
json.dump(sbom, open(sys.argv[2], "w"))
TEXT
  refuses 'lacks lib' /usr/bin/python3 "$here/sbom_check.py" "$work/lacks.json" "${programs[@]}"
}
expect "an SBOM that lacks a library is refused" lack_library
# PATTERN_OF_SED SENTENCE: the SBOM's script refuses a changed list of licences.
licences() {
  mkdir -p "$work/tree/deploy" "$work/tree/common/plot"
  cp "$top/CMakeLists.txt" "$work/tree"
  cp "$top/deploy/sbom.py" "$work/tree/deploy"
  cp -r "$top/common/plot/uplot" "$work/tree/common/plot"
  sed "$1" "$top/deploy/licences.csv" >"$work/tree/deploy/licences.csv"
  refuses "$2" python3 "$work/tree/deploy/sbom.py" "$debs/dpnmf-curator_${version}_"*.deb "$build"
}
expect "a library without a licence is refused" licences /^eigen3/d 'eigen3, a part of dpnmf-curator'
expect "a licence that does not fit is refused" licences 's/^openssl,.*/openssl,GPL-2.0-only/' 'the licence GPL-2.0-only'

if command -v lintian >/dev/null; then
  # lintian's own exit code says the same, but also that it could not run.
  without_errors() {
    lintian --allow-root "$debs"/*.deb >"$work/lintian" 2>&1
    [ $? -le 1 ] && ! grep '^E:' "$work/lintian"
  }
  expect "lintian finds no error" without_errors
else
  echo "NOT RUN: lintian is not here"
fi

# ---- The tree of a release

clone=$work/clone
clone_of_tree() (
  git clone -q "$top" "$clone" && cp "$top/deploy/release.sh" "$clone/deploy" && cd "$clone" &&
    sed -i "s/^## \[$version\].*/## [$version] - 2026-01-02/" CHANGELOG.md &&
    git -c user.name=test -c user.email=test@example.org commit -qam 'Release'
)
check() { "$clone/deploy/release.sh" check; }
expect "a tree to be released" clone_of_tree
expect "a tree without a tag is refused" refuses "no tag v$version" check
expect "a tag of another version" git -C "$clone" tag v9.9.9
expect "a tree with another tag is refused" refuses "no tag v$version" check
expect "its tag" git -C "$clone" tag "v$version"
expect "a tree that can be released" check
touch "$clone/more"
expect "a tree with an uncommitted file is refused" refuses 'not committed' check
rm "$clone/more"
sed -i "s/^## \[$version\].*/## [$version] - unreleased/" "$clone/CHANGELOG.md"
git -C "$clone" -c user.name=test -c user.email=test@example.org commit -qam 'Not yet'
git -C "$clone" tag -f "v$version" >/dev/null
expect "a changelog without a date is refused" refuses 'CHANGELOG.md begins' check

# ---- Signatures

if command -v minisign >/dev/null; then
  release=$work/release
  key() { minisign -G -W -f -p "$work/$1.pub" -s "$work/$1.key"; }
  expect "a key" key right
  expect "another key" key other
  mkdir "$release"
  cp "$debs"/*.deb "$debs"/*.spdx.json "$release"
  sign() { "$top/deploy/release.sh" sign "$release" "$work/right.key"; }
  verify() { "$top/deploy/verify.sh" "$release" "${1:-$work/right.pub}"; }
  expect "a release without a signature is refused" refuses 'no SHA256SUMS' verify
  expect "a release is signed" sign
  expect "a signed release is accepted" verify
  expect "a key given as text" verify "$(tail -n 1 "$work/right.pub")"
  expect "another key's signature is refused" refuses 'not signed by this key' verify "$work/other.pub"
  some=$(ls "$release"/*.deb | head -n 1)
  printf x >>"$some"
  expect "a changed package is refused" refuses 'differs from what was signed' verify
  rm "$some"
  expect "a release that lacks a package is refused" refuses 'differs from what was signed' verify
  cp "$debs/$(basename "$some")" "$release"
  expect "the package as it was" verify
  touch "$release/more.deb"
  expect "a file that was not signed is refused" refuses 'not signed: more.deb' verify
  rm "$release/more.deb"
  sed -i '1s/^./x/' "$release/SHA256SUMS"
  expect "changed sums are refused" refuses 'not signed by this key' verify
else
  echo "NOT RUN: minisign is not here"
fi
