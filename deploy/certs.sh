#!/usr/bin/env bash
# Makes the certificates that the programs use for mutual TLS.
set -euo pipefail
umask 077

readonly CA_DAYS=3650
readonly LEAF_DAYS=397
readonly CRL_DAYS=30

usage() {
  cat <<'TEXT'
Usage:
  deploy/certs.sh init DIR
      Makes a certificate authority (CA) in DIR/ca. Does nothing if one exists.

  deploy/certs.sh issue DIR NAME [--dns X]... [--ip X]... [--uri X]... [--days N]
      Makes a key and a certificate in DIR/NAME, signed by the CA, valid for
      servers and clients. Without --dns and --uri the certificate is for the
      DNS name NAME. Run it again to renew: running servers load the new files
      within seconds.

  deploy/certs.sh request DIR NAME [--dns X]... [--ip X]... [--uri X]...
      Makes DIR/NAME/tls.key and DIR/NAME/request.csr, without a CA. Send the
      .csr to the holder of the CA; the key never travels.

  deploy/certs.sh sign DIR CSR [--days N] > CERTIFICATE
      Shows the names that the request asks for (on standard error), signs it
      and writes the certificate to standard output.

  deploy/certs.sh crl DIR [--days N]
      Renews the revocation list DIR/ca/ca.crl (valid for 30 days) and puts a
      copy beside every certificate in DIR. Servers that use it (--crl) deny all
      access if it has expired or is missing: renew it from a timer.

  deploy/certs.sh revoke DIR CERTIFICATE
      Puts the certificate on the list and renews the list. Servers refuse the
      certificate at the next connection, call or round.

  deploy/certs.sh show FILE
      Prints a certificate's names, dates and issuer.

  deploy/certs.sh demo DIR
      Makes a CA and certificates for a demonstration on one machine: curator,
      analyst and alice (a client).

Files:
  DIR/ca/ca.crt     the CA's certificate: for every party          (--ca)
  DIR/ca/ca.crl     the revocation list: for every server          (--crl)
  DIR/ca/ca.key     the CA's key: its holder can impersonate every party; do not
                    store it on the servers
  DIR/NAME/tls.crt  NAME's certificate: public                     (--cert)
  DIR/NAME/tls.key  NAME's key: stays with NAME, mode 0400         (--key)
  DIR/NAME/ca.crt   a copy of the CA's certificate, so that DIR/NAME is complete

Names. Programs identify each other by the subject alternative name only:
  * a server's certificate must state the host that its peers connect to (--dns,
    --ip);
  * a client is identified by its DNS or URI entries; the curator's allow-list
    names them as dns:alice.client or uri:spiffe://site/alice.
The common name is ignored.

Example, two machines:
  deploy/certs.sh init /root/pki
  deploy/certs.sh issue /root/pki curator --dns curator.hospital.example
  deploy/certs.sh issue /root/pki analyst --dns analyst.lab.example
TEXT
}

fail() {
  echo "certs.sh: $*" >&2
  exit 2
}

# Only words and names may go into an OpenSSL configuration.
check_word() {
  [[ $2 =~ ^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$ ]] ||
    fail "$1 \`$2' must be letters, digits, '.', '_' or '-'"
}
check_dns() {
  [[ $1 =~ ^(\*\.)?[A-Za-z0-9]([A-Za-z0-9._-]{0,252})$ ]] ||
    fail "--dns \`$1' is not a host name"
}
check_ip() { [[ $1 =~ ^[0-9a-fA-F.:]+$ ]] || fail "--ip \`$1' is not an address"; }
check_uri() {
  [[ $1 =~ ^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/@%+-]+$ ]] ||
    fail "--uri \`$1' is not a URI such as spiffe://site/alice"
}
check_days() {
  [[ $1 =~ ^[1-9][0-9]{0,4}$ ]] || fail "--days \`$1' must be a positive number"
}

need_ca() {
  [[ -f $1/ca/ca.key && -f $1/ca/ca.crt ]] ||
    fail "there is no CA in $1/ca; run: deploy/certs.sh init $1"
}

# Reads [--dns X]... [--ip X]... [--uri X]... [--days N] into $san and $days.
read_options() {
  san="" days=$LEAF_DAYS
  while (($# > 0)); do
    (($# > 1)) || fail "$1 needs a value"
    case $1 in
      --dns) check_dns "$2" && san+=",DNS:$2" ;;
      --ip) check_ip "$2" && san+=",IP:$2" ;;
      --uri) check_uri "$2" && san+=",URI:$2" ;;
      --days) check_days "$2" && days=$2 ;;
      *) fail "unknown option $1; see deploy/certs.sh --help" ;;
    esac
    shift 2
  done
  san=${san#,}
}

# An identity is a DNS or URI entry: add the name itself if there is neither.
with_identity() {
  if [[ $san != *DNS:* && $san != *URI:* ]]; then
    check_dns "$1"
    san="DNS:$1${san:+,$san}"
  fi
}

# make_request NAME KEY CSR: a fresh P-256 key and a request for $san.
make_request() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -sha256 \
    -subj "/CN=$1" -addext "subjectAltName=$san" -keyout "$2" -out "$3" 2>/dev/null ||
    fail "openssl cannot make a key and a request for the names $san"
}

# The names in a request, as an extension's value: DNS:a,IP:1.2.3.4.
names_of_request() {
  openssl req -in "$1" -noout -text |
    sed -n '/X509v3 Subject Alternative Name/{n;s/^ *//;s/IP Address:/IP:/g;s/, /,/g;p;}'
}

# sign_request DIR CSR NAMES DAYS: writes the certificate to standard output. Only
# the key of the request is used; the extensions are these.
sign_request() {
  openssl x509 -req -in "$2" -CA "$1/ca/ca.crt" -CAkey "$1/ca/ca.key" -sha256 \
    -days "$4" -set_serial "0x$(openssl rand -hex 16 | sed 's/^./4/')" \
    -extfile <(
      echo "basicConstraints=critical,CA:FALSE"
      echo "keyUsage=critical,digitalSignature"
      echo "extendedKeyUsage=serverAuth,clientAuth"
      echo "subjectKeyIdentifier=hash"
      echo "authorityKeyIdentifier=keyid"
      echo "subjectAltName=$3"
    ) 2>/dev/null || fail "openssl cannot sign the request for the names $3"
}

# install_file NEW PATH MODE: in one step, with the old file's owner.
install_file() {
  chmod "$3" "$1"
  [[ ! -e $2 ]] || chown --reference="$2" "$1" 2>/dev/null || true
  mv -f "$1" "$2"
}

init() {
  (($# == 1)) || fail "usage: deploy/certs.sh init DIR"
  local dir=$1
  if [[ -e $dir/ca/ca.key ]]; then
    echo "$dir/ca: there is a CA already; left as it is"
    return
  fi
  [[ ! -e $dir/ca/ca.crt ]] || fail "$dir/ca has a certificate and no key"
  mkdir -p "$dir/ca"
  # The key is installed last: an incomplete CA must not look complete.
  openssl req -x509 -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -sha256 \
    -days "$CA_DAYS" -subj "/CN=dpnmf CA $(openssl rand -hex 4)" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" \
    -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -keyout "$dir/ca/.ca.key.new" -out "$dir/ca/.ca.crt.new" 2>/dev/null ||
    fail "openssl cannot make a CA"
  install_file "$dir/ca/.ca.crt.new" "$dir/ca/ca.crt" 0444
  install_file "$dir/ca/.ca.key.new" "$dir/ca/ca.key" 0400
  echo "$dir/ca: made a CA, valid for $CA_DAYS days"
}

issue() {
  (($# >= 2)) || fail "usage: deploy/certs.sh issue DIR NAME [options]"
  local dir=$1 name=$2
  check_word "the name" "$name"
  [[ $name != ca ]] || fail "the name ca is the CA's own; choose another"
  need_ca "$dir"
  read_options "${@:3}"
  with_identity "$name"
  local out=$dir/$name new
  mkdir -p "$out"
  new=$(mktemp -d "$out/.new.XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$new'" EXIT
  make_request "$name" "$new/tls.key" "$new/tls.csr"
  sign_request "$dir" "$new/tls.csr" "$san" "$days" >"$new/tls.crt"
  cp "$dir/ca/ca.crt" "$new/ca.crt"
  if [[ -e $dir/ca/ca.crl ]]; then
    cp "$dir/ca/ca.crl" "$new/ca.crl"
    install_file "$new/ca.crl" "$out/ca.crl" 0444
  fi
  install_file "$new/ca.crt" "$out/ca.crt" 0444
  install_file "$new/tls.key" "$out/tls.key" 0400
  install_file "$new/tls.crt" "$out/tls.crt" 0444
  rm -rf "$new"
  trap - EXIT
  echo "$out: certificate for $san, valid for $days days"
}

request() {
  (($# >= 2)) || fail "usage: deploy/certs.sh request DIR NAME [options]"
  local out=$1/$2
  check_word "the name" "$2"
  read_options "${@:3}"
  with_identity "$2"
  [[ ! -e $out/tls.key ]] || fail "$out/tls.key exists; move it away first"
  mkdir -p "$out"
  make_request "$2" "$out/tls.key" "$out/request.csr"
  chmod 0400 "$out/tls.key"
  chmod 0444 "$out/request.csr"
  echo "$out/request.csr: request for $san; send it to whoever holds the CA"
}

sign() {
  (($# >= 2)) || fail "usage: deploy/certs.sh sign DIR CSR [--days N]"
  need_ca "$1"
  read_options "${@:3}"
  [[ -z $san ]] || fail "sign takes the names from the request"
  openssl req -in "$2" -noout -verify 2>/dev/null ||
    fail "$2 is not a certificate request, or its signature is wrong"
  local names
  names=$(names_of_request "$2")
  [[ $names == *DNS:* || $names == *URI:* ]] ||
    fail "$2 asks for no DNS or URI name; make it with: deploy/certs.sh request"
  [[ $names =~ ^[A-Za-z0-9._~:/@%+*,-]+$ ]] || fail "$2 asks for an odd name: $names"
  echo "certs.sh: signing for $names" >&2
  sign_request "$1" "$2" "$names" "$days"
}

# The files in which `openssl ca` keeps the list of revoked certificates.
ca_database() { # DIR
  [[ -e $1/ca/index ]] || : >"$1/ca/index"
  [[ -e $1/ca/crlnumber ]] || echo 01 >"$1/ca/crlnumber"
  cat <<TEXT
[ca]
default_ca = own
[own]
database = $1/ca/index
crlnumber = $1/ca/crlnumber
certificate = $1/ca/ca.crt
private_key = $1/ca/ca.key
default_md = sha256
unique_subject = no
TEXT
}

make_crl() { # DIR DAYS
  local copy
  openssl ca -config <(ca_database "$1") -gencrl -crldays "$2" -out "$1/ca/.ca.crl.new" 2>/dev/null ||
    fail "openssl cannot make the revocation list"
  for copy in "$1"/*/tls.crt; do
    [[ -e $copy ]] || continue
    copy=${copy%/tls.crt}/ca.crl
    cp "$1/ca/.ca.crl.new" "$copy.new"
    install_file "$copy.new" "$copy" 0444
  done
  install_file "$1/ca/.ca.crl.new" "$1/ca/ca.crl" 0444
  echo "$1/ca/ca.crl: revocation list, good for $2 days"
}

crl() {
  (($# >= 1)) || fail "usage: deploy/certs.sh crl DIR [--days N]"
  need_ca "$1"
  read_options "${@:2}"
  [[ -z $san ]] || fail "crl takes --days alone"
  [[ $* == *--days* ]] || days=$CRL_DAYS
  make_crl "$1" "$days"
}

revoke() {
  (($# == 2)) || fail "usage: deploy/certs.sh revoke DIR CERTIFICATE"
  need_ca "$1"
  [[ -f $2 ]] || fail "there is no certificate $2"
  openssl verify -CAfile "$1/ca/ca.crt" -no_check_time "$2" >/dev/null 2>&1 ||
    fail "$2 is not a certificate of the CA in $1/ca"
  if ! openssl ca -config <(ca_database "$1") -revoke "$2" >"$1/ca/.revoke.log" 2>&1; then
    grep -q 'Already revoked' "$1/ca/.revoke.log" || fail "openssl cannot revoke $2"
  fi
  rm -f "$1/ca/.revoke.log"
  echo "$2: revoked"
  make_crl "$1" "$CRL_DAYS"
}

show() {
  (($# == 1)) || fail "usage: deploy/certs.sh show FILE"
  openssl x509 -in "$1" -noout 2>/dev/null ||
    fail "$1 is not a certificate (PEM) that can be read"
  openssl x509 -in "$1" -noout -subject -issuer -dates -ext subjectAltName
}

demo() {
  (($# == 1)) || fail "usage: deploy/certs.sh demo DIR"
  init "$1"
  issue "$1" curator --dns curator --dns localhost --ip 127.0.0.1 --ip ::1
  issue "$1" analyst --dns analyst --dns localhost --ip 127.0.0.1 --ip ::1
  issue "$1" alice --dns alice.client
  make_crl "$1" "$CRL_DAYS"
}

main() {
  command -v openssl >/dev/null || fail "openssl is missing; run: apt-get install openssl"
  case ${1:-} in
    init | issue | request | sign | crl | revoke | show | demo) "$@" ;;
    -h | --help | help) usage ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
}

main "$@"
