package tlsrpt

import (
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

func TestParseRecord(t *testing.T) {
	tests := []struct {
		name, text string
		rua        []string
		fault      string // empty if the record is valid
	}{
		{"RFC 8460 section 3.1", "v=TLSRPTv1;rua=mailto:reports@example.com", []string{"mailto:reports@example.com"}, ""},
		{"https", "v=TLSRPTv1; rua=https://reporting.example.com/v1/tlsrpt", []string{"https://reporting.example.com/v1/tlsrpt"}, ""},
		{"several", "v=TLSRPTv1; rua=mailto:a@b , HTTPS://c/?d=e;", []string{"mailto:a@b", "HTTPS://c/?d=e"}, ""},
		{"extension", "v=TLSRPTv1; x=y; rua=mailto:a@b", []string{"mailto:a@b"}, ""},
		{"second rua is ignored", "v=TLSRPTv1; rua=mailto:a@b; rua=x", []string{"mailto:a@b"}, ""},
		{"no rua", "v=TLSRPTv1;", nil, "the record has no rua"},
		{"empty rua", "v=TLSRPTv1; rua=;", nil, "rua has no value"},
		{"bare address", "v=TLSRPTv1; rua=a@b", nil, `"a@b" in rua has no mailto:`},
		{"http", "v=TLSRPTv1; rua=http://a/", nil, `has the scheme "http"`},
		{"mailto without a domain", "v=TLSRPTv1; rua=mailto:a", nil, "has no address of the form local-part@domain"},
		{"comma at the end", "v=TLSRPTv1; rua=mailto:a@b,", nil, "a comma in rua without an address"},
		{"beyond ASCII", "v=TLSRPTv1; rua=mailto:\u00e4@b", nil, "has a character that a URI cannot have"},
		{"size limit of DMARC", "v=TLSRPTv1; rua=mailto:a@b!10m", nil, "TLSRPT knows no size limit"},
		{"white space", "v=TLSRPTv1; rua =mailto:a@b", nil, "white space at the equals sign"},
		{"other version", "v=TLSRPTv2; rua=mailto:a@b", nil, "does not begin with v=TLSRPTv1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ParseRecord(tt.text)
			require.Equal(t, tt.rua, r.RUA)
			if tt.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.fault)
		})
	}
	r, err := ParseRecord("v=TLSRPTv1; x=y; rua=mailto:a@b; x=z")
	require.NoError(t, err)
	require.Len(t, r.Extensions, 1)
}

// Senders use a record only if it is the only one (RFC 8460 section 3).
func TestFind(t *testing.T) {
	const record = "v=TLSRPTv1; rua=mailto:a@b"
	tests := []struct {
		name  string
		texts []string
		fault string
	}{
		{"one", []string{record}, ""},
		{"one beside others", []string{"v=spf1 -all", record, "v=tlsrptv1; rua=mailto:a@b"}, ""},
		{"none", []string{"v=spf1 -all"}, "there is no TLSRPT record"},
		{"two", []string{record, record}, "there are 2 TLSRPT records, and senders use none of them"},
		{"stray", []string{"v=TLSRPTv1"}, "no semicolon follows its version"},
		{"broken", []string{"v=TLSRPTv1; rua=a@b"}, "has no mailto:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var answer []*dns.TXT
			for _, text := range tt.texts {
				answer = append(answer, &dns.TXT{Txt: []string{text}})
			}
			r, err := Find(answer)
			require.Equal(t, tt.fault == "", len(r.RUA) == 1)
			if tt.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.fault)
		})
	}
}

// TestConformanceTLSRPT reads records that another implementation accepts or refuses.
func TestConformanceTLSRPT(t *testing.T) {
	type vector struct {
		Valid bool
		Text  string
	}
	cases, passed := diagtest.Cases[vector](t, diagtest.Suite(t, "mail/records-mox/tlsrpt.json")), 0
	for _, c := range cases {
		if _, err := ParseRecord(c.Text); c.Valid != (err == nil) {
			t.Errorf("%q: %v", c.Text, err)
			continue
		}
		passed++
	}
	t.Logf("tlsrpt: %d/%d", passed, len(cases))
}

func FuzzParseRecord(f *testing.F) {
	f.Add("v=TLSRPTv1; rua=mailto:a@b,https://c; x=y")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ParseRecord(text); (err == nil) != (len(r.RUA) > 0) {
			t.Errorf("both %+v and %v", r, err)
		}
	})
}
