#!/usr/bin/env bash
# mechanism_names.sh SOURCE: no file but a mechanism's own has the name of a mechanism
# as a text: what depends on a property of a mechanism reads a field of its descriptor,
# and what is made for one mechanism names its constant (kMomentsMechanism.name). So a
# new mechanism is found by all that its fields say it is for.
set -u
cd "$1" || exit 2
bad=0
names=$(cd common/privacy/mechanism && printf '%s\n' *.cc | sed 's/[.]cc$//' | paste -sd'|')
# Where the same word is something else.
exceptions=(
  '^lab/'                                                          # its methods, and the keys of its reports
  '^curator/(data/description|data/dataset|maintenance/status)[.]cc:.*"ratings"'  # what a data set holds: keys, a file
  '^(client|curator)/web/assets/[a-z]+[.]js:.*[.]ratings [?] '     # the same, as it is shown
  '^python/src/dpnmf/results[.]py:.*has_?[rR]'                             # the same in Python
  '^client/web/assets/(models|run)[.]js:.*[.]release === '         # a release
  '^common/privacy/mechanism[.]h:.*kReleaseOfMoments'            # the same
  '^common/learning/paid_release[.]h:.*kPaidAimed'                                 # a name in the stored state of a run
  '^client/commands/objective[.]cc:.*[.]name = '                   # the command
  '^common/privacy/run_plan[.]h:.*std::string mechanism = '                # below the descriptors: what a plain struct begins as
  '^python/src/dpnmf/client[.]py:.*_FIT_MOMENTS = '                        # compared with the descriptors below
)
# quoted PATH...: FILE:LINE of each name in quotes, comments left out.
quoted() {
  grep -rnE --include='*.cc' --include='*.h' --include='*.js' --include='*.py' \
    "^([^/]|/[^/])*[\"'](${names})[\"']" "$@" | grep -vE "^(common/privacy|common/learning|curator)/mechanism/(${names})[.]cc:"
}
found=$(quoted analyst client common curator lab python/src)
left=$found
for exception in "${exceptions[@]}"; do
  grep -qE "$exception" <<<"$found" || { echo "no line needs the exception $exception"; bad=1; }
  left=$(grep -vE "$exception" <<<"$left")
done
if [ -n "$left" ]; then
  echo "$left"
  echo "^ names of mechanisms as text: read a field of the descriptor (common/privacy/mechanism.h)"
  bad=1
fi
# In no place whatever, but for that default, is a mechanism compared with a text.
if grep -rnE --include='*.cc' --include='*.h' "mechanism[()]*( *[!=]?=) *\"(${names})\"|set_mechanism\(\"" analyst client common curator lab |
  grep -v '^common/privacy/run_plan[.]h:'; then
  echo "^ a mechanism is compared with a text"
  bad=1
fi
# Python has no descriptors: its one list must be what they say.
fit=$(grep -l '[.]fits_moments = true' common/privacy/mechanism/*.cc | sed 's/.*\///; s/[.]cc$//' | sort | paste -sd' ')
listed=$(sed -n 's/^_FIT_MOMENTS = (\(.*\))$/\1/p' python/src/dpnmf/client.py | tr -d '",' | tr ' ' '\n' | sort | paste -sd' ')
if [ -z "$fit" ] || [ "$fit" != "$listed" ]; then
  echo "client.py lists '$listed', the descriptors say '$fit'"
  bad=1
fi
# The wall holds only if it can see.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
echo 'if (run.mechanism() == "aimed") return;  // "moments"' > "$planted/planted.cc"
[ -n "$(quoted "$planted")" ] || { echo "the check is blind to a name"; bad=1; }
echo 'return;  // "aimed"' > "$planted/planted.cc"
[ -z "$(quoted "$planted")" ] || { echo "the check takes a comment for code"; bad=1; }
exit $bad
