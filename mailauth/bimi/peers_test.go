package bimi

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
	"github.com/stretchr/testify/require"
)

// This package distinguishes all errors that Mail::BIMI (lib/Mail/BIMI/Error.pm) and checkdmarc (checkdmarc/bimi.py)
// do, except those about a message (DMARC_NOT_PASS, NO_DKIM) and about their own calls (CODE_…).
func TestFindingsOfPeers(t *testing.T) {
	past := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	good := shelf{logo: drawn, mark: issued(markcerttest.Mark{})}
	url := func(l string) string { return with("v=BIMI1; l=" + l + "; a=;") }
	tests := []struct {
		peer, zone string
		shelf      shelf
		code       diag.Code
	}{
		{"BIMI_NOT_ENABLED, NO_BIMI_RECORD, BIMIRecordNotFound", strict, good, "bimi.record.missing"},
		{"BIMIRecordInWrongLocation", strict + at("example.com", full), good, "bimi.record.location"},
		{"MULTI_BIMI_RECORD, MultipleBIMIRecords", with(full, alone), good, "bimi.record.multiple"},
		{"BIMISyntaxError", with("v=BIMI1; l=" + logoURL + " a=" + markURL), good, "bimi.record.syntax"},
		{"DUPLICATE_KEY, duplicate tags", with(full + "; l=" + logoURL), good, "bimi.record.repeated"},
		{"InvalidBIMITagValue: avp", with(full + "; avp=logo"), good, "bimi.avp.invalid"},
		{"MISSING_V_TAG", with("l=" + logoURL + "; v=BIMI1"), good, "bimi.record.version"},
		{"EMPTY_V_TAG", with("v=; l=" + logoURL), good, "bimi.record.version"},
		{"INVALID_V_TAG", with("v=BIMI2; l=" + logoURL), good, "bimi.record.version"},
		{"EMPTY_L_TAG", with("v=BIMI1; l=; a=;"), good, "bimi.record.declined"},
		{"MISSING_L_TAG", with("v=BIMI1; a=" + markURL), good, "bimi.location.missing"},
		{"INVALID_TRANSPORT_L", url("http://brand.example.com/logo.svg"), good, "bimi.location.http"},
		{"INVALID_TRANSPORT_A", with("v=BIMI1; l=" + logoURL + "; a=http://brand.example.com/mark.pem"), good, "bimi.authority.http"},
		{"MULTIPLE_LOCATIONS", url(logoURL + ",https://b.example.com/logo.svg"), good, "bimi.location.invalid"},
		{"MULTIPLE_AUTHORITIES", with(full + ",https://b.example.com/mark.pem"), good, "bimi.authority.invalid"},
		{"NO_DMARC, no valid DMARC record", mail + record1, good, "bimi.dmarc.missing"},
		{"DMARC_NOT_ENFORCING, p=none", under("v=DMARC1; p=none"), good, "bimi.dmarc.none"},
		{"DMARC_NOT_ENFORCING, sp=none", under("v=DMARC1; p=reject; sp=none"), good, "bimi.dmarc.subdomains"},
		{"DMARC_NOT_ENFORCING, pct", under("v=DMARC1; p=quarantine; pct=99"), good, "bimi.dmarc.percentage"},
		{"pct other than 100", under("v=DMARC1; p=reject; pct=99"), good, "bimi.dmarc.percentage.reject"},
		{"SPF_PLUS_ALL", with(full) + at("example.com", "v=spf1 +all"), good, "bimi.spf.open"},
		{"VMC_REQUIRED, most providers want a certificate", with(alone), good, "bimi.certificate.missing"},
		{"SVG_FETCH_ERROR, SVG_GET_ERROR", with(full), shelf{mark: good.mark}, "bimi.logo_file.invalid"},
		{"SVG_INVALID_XML, not a SVG file", with(full), shelf{logo: "<svg", mark: good.mark}, "bimi.logo_file.invalid"},
		{"SVG_SIZE", with(full), shelf{logo: strings.Replace(drawn, "</svg>", "<desc>"+strings.Repeat("x", 33<<10)+"</desc></svg>", 1), mark: good.mark}, "bimi.logo_file.invalid"},
		{"SVG_UNZIP_ERROR", with(full), shelf{logo: "\x1f\x8b\x08broken", mark: good.mark}, "bimi.logo_file.invalid"},
		{"SVG_VALIDATION_ERROR, version, base profile, title, x and y", with(full), shelf{logo: scripted, mark: good.mark}, "bimi.logo_file.invalid"},
		{"SVG_MISMATCH, hash", with(full), shelf{logo: other, mark: good.mark}, "bimi.logo_file.mismatch"},
		{"VMC_FETCH_ERROR", with(full), shelf{logo: drawn}, "bimi.certificate.invalid"},
		{"VMC_PARSE_ERROR", with(full), shelf{logo: drawn, mark: "x"}, "bimi.certificate.invalid"},
		{"VMC_EXPIRED", with(full), shelf{logo: drawn, mark: issued(markcerttest.Mark{NotAfter: past})}, "bimi.certificate.invalid"},
		{"VMC_VALIDATION_ERROR", with(full), shelf{logo: drawn, mark: issued(markcerttest.Mark{Domains: []string{"example.net"}})}, "bimi.certificate.invalid"},
		{"the certificate will expire", with(full), shelf{logo: drawn, mark: issued(markcerttest.Mark{NotAfter: past.AddDate(0, 0, 40)})}, "bimi.certificate.flawed"},
	}
	for _, tt := range tests {
		t.Run(tt.peer, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := diagtest.NewWorld(t)
				w.Zone(tt.zone)
				tt.shelf.open(w)
				env := w.Env()
				env.Data = issuer.Files()
				r, err := Lookup(t.Context(), env, LookupRequest{Domain: diag.MustDomain("example.com")})
				require.NoError(t, err)
				require.True(t, slices.Contains(diagtest.Codes(r.Verdict), tt.code), "%v", diagtest.Codes(r.Verdict))
			})
		})
	}
	t.Logf("kinds of findings of peers: %d", len(tests))
}
