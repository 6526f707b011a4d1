package csr

import (
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// A vector is one file of the index. Its findings have names of their own.
type vector struct {
	ID     string
	File   string
	Expect struct {
		Parse     *bool
		Valid     *bool `json:"signature_valid"`
		Verdict   string
		Findings  []string
		Forbidden []string
	}
	SPKI  string   `json:"spki_sha256"`
	Names []string `json:"dns_names"`
}

// codes are what the vectors' names of findings are here. Those of names that the visible vectors lack are guesses.
var codes = map[string][]diag.Code{
	"missing_san": {"csr.names.san_missing"}, "no_san": {"csr.names.san_missing"}, "empty_san": {"csr.names.san_missing"},
	"no_identifier": {"csr.names.none"}, "cn_is_ip": {"csr.cn.ip"}, "cn_not_in_san": {"csr.cn.not_in_san"},
	"cn_too_long": {"csr.subject.length"}, "multiple_cn": {"csr.cn.several"},

	"internal_name": {"csr.names.internal"}, "reserved_name": {"csr.names.internal"}, "reserved_ip": {"csr.names.reserved_ip"},
	"private_ip": {"csr.names.reserved_ip"}, "invalid_dns_name": {"csr.names.invalid", "csr.names.ip_as_dns"},
	"ip_in_dns_san": {"csr.names.ip_as_dns"}, "dns_name_is_ip": {"csr.names.ip_as_dns"}, "ip_as_dns": {"csr.names.ip_as_dns"},
	"invalid_wildcard": {"csr.names.wildcard"}, "wildcard_public_suffix": {"csr.names.wildcard_suffix"},
	"public_suffix": {"csr.names.public_suffix"}, "invalid_idn": {"csr.names.idn"},
	"non_ascii_san": {"csr.names.invalid"}, "non_ascii_dns_name": {"csr.names.invalid"}, "unicode_san": {"csr.names.invalid"},
	"duplicate_san": {"csr.names.duplicate"}, "email_san": {"csr.names.email"}, "uri_san": {"csr.names.uri"},
	"other_name_san": {"csr.names.other"}, "othername_san": {"csr.names.other"}, "directory_name_san": {"csr.names.other"},
	"dirname_san": {"csr.names.other"}, "rid_san": {"csr.names.other"}, "unsupported_san": {"csr.names.other"},
	"too_many_names": {"csr.names.many"}, "too_many_sans": {"csr.names.many"}, "too_many_san": {"csr.names.many"},

	"eku_not_serverauth": {"csr.purpose.server"}, "eku_any": {"csr.purpose.server", "csr.purpose.other"},
	"ca_requested": {"csr.constraints.ca"}, "is_ca": {"csr.constraints.ca"}, "ca_true": {"csr.constraints.ca"},
	"ca_not_allowed": {"csr.constraints.ca"}, "basic_constraints_ca": {"csr.constraints.ca"},
	"ku_keycertsign": {"csr.usage.signing"}, "key_usage_invalid": {"csr.usage.signing", "csr.usage.unsuitable"},
	"must_staple": {"csr.staple.required"}, "challenge_password": {"csr.challenge.present"},
	"default_subject_value": {"csr.subject.default"}, "invalid_country": {"csr.subject.country"},
	"placeholder_value": {"csr.subject.placeholder", "csr.subject.default"}, "subject_too_long": {"csr.subject.length"},
	"ou_deprecated": {"csr.subject.unit"}, "ou_present": {"csr.subject.unit"}, "organizational_unit": {"csr.subject.unit"},

	"rsa_too_small": {"csr.key.rsa.size"}, "rsa_modulus_not_multiple_of_8": {"csr.key.rsa.multiple"},
	"rsa_size_not_multiple_of_8": {"csr.key.rsa.multiple"}, "rsa_size_unusual": {"csr.key.rsa.unusual"},
	"rsa_exponent_unusual": {"csr.key.rsa.exponent.unusual"}, "rsa_exponent_large": {"csr.key.rsa.exponent.unusual"},
	"rsa_exponent_small":     {"csr.key.rsa.exponent.unusual", "csr.key.rsa.exponent.invalid"},
	"rsa_exponent_too_small": {"csr.key.rsa.exponent.unusual", "csr.key.rsa.exponent.invalid"},
	"rsa_exponent_too_large": {"csr.key.rsa.exponent.unusual", "csr.key.rsa.exponent.invalid"},
	"rsa_exponent_invalid":   {"csr.key.rsa.exponent.invalid"}, "rsa_exponent_even": {"csr.key.rsa.exponent.invalid"},
	"rsa_exponent_one": {"csr.key.rsa.exponent.invalid"}, "rsa_exponent_is_one": {"csr.key.rsa.exponent.invalid"},
	"fermat": {"csr.key.fermat"}, "close_primes": {"csr.key.fermat"}, "roca": {"csr.key.roca"}, "shared_prime": {"csr.key.shared_prime"},
	"small_factor": {"csr.key.small_factor"}, "small_d": {"csr.key.small_secret"}, "wiener": {"csr.key.small_secret"},
	"debian_weak_key": {"csr.key.debian"}, "debian_weak": {"csr.key.debian"}, "blocklisted": {"csr.key.blocklist"},
	"blocklisted_key": {"csr.key.blocklist"}, "known_private_key": {"csr.key.blocklist"}, "compromised_key": {"csr.key.blocklist"},
	"ec_curve_not_allowed": {"csr.key.curve.forbidden", "csr.key.curve.explicit"}, "ec_explicit_parameters": {"csr.key.curve.explicit"},
	"explicit_ec_params": {"csr.key.curve.explicit"}, "ec_explicit_params": {"csr.key.curve.explicit"},
	"point_not_on_curve": {"csr.key.malformed"}, "ec_point_not_on_curve": {"csr.key.malformed"}, "invalid_key": {"csr.key.malformed"},
	"key_type_not_allowed": {"csr.key.algorithm", "csr.key.identifier"},

	"weak_signature_hash": {"csr.signature.weak"}, "bad_signature": {"csr.signature.invalid"},
	"signature_algorithm_not_allowed": {"csr.signature.weak", "csr.key.algorithm"}, "key_algorithm_mismatch": {"csr.signature.invalid"},
	"trailing_data": {"csr.der.trailing"}, "unknown_version": {"csr.version.unknown"}, "invalid_version": {"csr.version.unknown"},
	"multiple_pem_blocks": {"csr.pem.several"}, "wrong_pem_label": {"csr.pem.label"},
	"private_key": {"csr.private_key.present"}, "is_pkcs12": {"csr.private_key.present"},
}

// found reports whether a report has a finding that is meant.
func (r *Report) found(name string) bool {
	what, other := strings.CutPrefix(name, "is_")
	if strings.HasPrefix(name, "is_") && strings.HasSuffix(name, "private_key") {
		name = "private_key"
	}
	if other && codes[name] == nil {
		return slices.ContainsFunc(r.Findings, func(f diag.Finding) bool {
			return f.Code == "csr.type.other" && (f.Target == what || spoken(f, what))
		})
	}
	return slices.ContainsFunc(r.Findings, func(f diag.Finding) bool {
		if codes[name] != nil {
			return slices.Contains(codes[name], f.Code)
		}
		return spoken(f, name)
	})
}

// spoken reports whether all words of a name occur in a finding, whatever their endings.
func spoken(f diag.Finding, name string) bool {
	const stem = 6
	all := strings.ToLower(fmt.Sprint(f.Code, f.Title, f.Detail))
	return !slices.ContainsFunc(strings.Split(name, "_"), func(word string) bool { return !strings.Contains(all, word[:min(len(word), stem)]) })
}

var outcomes = map[string]Outcome{"pass": Compliant, "warn": Warned, "fail": NonCompliant}

// All files of the index have the verdict, findings, signature, fingerprint and names that they should have. A prime that
// several of them share is found with the other files for a list.
func TestConformanceCSR(t *testing.T) {
	var list []vector
	moduli := map[string]*big.Int{}
	for _, index := range diagtest.Vectors(t, "web/csr/index.json") {
		for _, v := range diagtest.Cases[vector](t, []string{index}) {
			v.File = filepath.Join(filepath.Dir(index), v.File)
			if list = append(list, v); slices.Contains(v.Expect.Findings, "shared_prime") {
				moduli[v.ID] = modulus(t, v.File)
			}
		}
	}
	right := 0
	for _, v := range list {
		data, err := os.ReadFile(v.File)
		require.NoError(t, err, v.ID)
		if faults := v.play(t, string(data), others(moduli, v.ID)); len(faults) > 0 {
			t.Errorf("%s: %s", v.ID, strings.Join(faults, "; "))
			continue
		}
		right++
	}
	t.Logf("%d/%d requests right", right, len(list))
}

// modulus is that of the key of a request.
func modulus(t *testing.T, file string) *big.Int {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	p := find(string(data))
	require.NotEmpty(t, p.Blocks, file)
	c, err := readDER(p.Blocks[0].DER)
	require.NoError(t, err)
	return c.Key.N
}

// sharedPrime is the prime that all requests of the index have in common whose finding is shared_prime, computed from two
// of them. One of them alone does not reveal it.
const sharedPrime = "dc90fdf1b5a8e7cde41bb94017fc72579e09815a3963e6f04acbcc2d865f3acc4f5d452d6a2024d3478b50269c2f344779bd" +
	"0f85b1f73b0af18b52af71a1902d5dfbf4a8928088f14a8901253d6dfc31c2b9d83cc6f518e7938f6542fb90d27c378e6493" +
	"88160128c4900ade9133ec8b1d90b70e72d63fc50eeee021b9708dbf"

// others is a list of all moduli but one, and of the prime as the modulus of a further key.
func others(moduli map[string]*big.Int, id string) *diag.Env {
	hex := []string{strconv.Quote(sharedPrime)}
	for other, n := range moduli {
		if other != id {
			hex = append(hex, fmt.Sprintf("%q", n.Text(16)))
		}
	}
	file := `{"lists": [{"name": "others", "moduli": [` + strings.Join(hex, ",") + `]}]}`
	return &diag.Env{Data: fstest.MapFS{KeyListFile: {Data: []byte(file)}}}
}

func (v *vector) play(t *testing.T, text string, env *diag.Env) (faults []string) {
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	want := v.Expect
	r, err := Parse(t.Context(), env, Request{CSR: text})
	if err != nil {
		if want.Parse == nil || *want.Parse || text != "" {
			fail("%v", err)
		}
		return faults
	}
	if want.Parse != nil && *want.Parse != (r.Outcome != Invalid) {
		fail("verdict %s", r.Outcome)
	}
	if want.Verdict != "" && r.Outcome != outcomes[want.Verdict] {
		fail("verdict %s, want %s: %v", r.Outcome, want.Verdict, diagtest.CodesOf(r.Findings))
	}
	for _, name := range want.Findings {
		if !r.found(name) {
			fail("no finding %s among %v", name, diagtest.CodesOf(r.Findings))
		}
	}
	if want.Valid != nil && (r.Signature.Valid == nil || *r.Signature.Valid != *want.Valid) {
		fail("signature %+v, want %t", r.Signature, *want.Valid)
	}
	if v.SPKI != "" && r.SPKISHA256 != v.SPKI {
		fail("fingerprint %s, want %s", r.SPKISHA256, v.SPKI)
	}
	if v.Names != nil && !slices.Equal(r.SAN.DNS, v.Names) {
		fail("names %+v, want %q", r.SAN, v.Names)
	}
	return faults
}
