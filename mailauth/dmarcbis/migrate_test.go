package dmarcbis

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/stretchr/testify/require"
)

func TestMigrate(t *testing.T) {
	const rua = "; rua=mailto:d@example.com"
	tests := []struct {
		name, record string
		np           policy.Policy
		psd          policy.PSD
		domain       string
		want         string // without "v=DMARC1; "; empty: as it was
		behavior     Behavior
		incompatible bool
		codes        string
	}{
		{name: "nothing to do", record: "v=DMARC1;p=reject; rua=mailto:d@example.com;", behavior: Same},
		{name: "pct=100", record: "v=DMARC1; p=reject; pct=100" + rua, want: "p=reject" + rua, behavior: Same},
		{name: "pct of nothing", record: "v=DMARC1; p=none; pct=20" + rua, want: "p=none" + rua, behavior: Same},
		{name: "pct=abc", record: "v=DMARC1; p=reject; pct=abc" + rua, want: "p=reject" + rua, behavior: Same},
		{name: "pct=0", record: "v=DMARC1; p=quarantine; pct=0" + rua, want: "p=none" + rua, behavior: Same},
		{name: "pct=0 of a subdomain policy", record: "v=DMARC1; p=none; sp=reject; pct=0" + rua,
			want: "p=none; sp=quarantine" + rua, behavior: Same},
		{name: "pct=50", record: "v=DMARC1; p=quarantine; pct=50" + rua, want: "p=none" + rua,
			behavior: Looser, codes: "percentage"},
		{name: "pct=99 of reject", record: "v=DMARC1; p=reject; pct=99" + rua, want: "p=quarantine" + rua,
			behavior: Looser, codes: "percentage"},
		{name: "pct beside t=y", record: "v=DMARC1; p=reject; pct=0; t=y" + rua, want: "p=quarantine" + rua, behavior: Same},
		{name: "pct beside t=n", record: "v=DMARC1; p=reject; pct=10; t=n" + rua, behavior: Same, incompatible: true},
		{name: "pct beside a broken t", record: "v=DMARC1; p=reject; pct=10; t=maybe" + rua, want: "p=quarantine" + rua,
			behavior: Looser, codes: "percentage"},
		{name: "already tested", record: "v=DMARC1; p=reject; t=y" + rua, behavior: Same, incompatible: true},
		{name: "rf and ri", record: "v=DMARC1; p=reject; rf=afrf; ri=3600" + rua, want: "p=reject" + rua, behavior: Same},
		{name: "size", record: "v=DMARC1; p=reject; rua=mailto:a@example.com!10m, mailto:b@example.com",
			want: "p=reject; rua=mailto:a@example.com,mailto:b@example.com", behavior: Same},
		{name: "bare address", record: "v=DMARC1; p=none; rua=d@example.com", want: "p=none; rua=mailto:d@example.com",
			behavior: Same},
		{name: "broken address", record: "v=DMARC1; p=none; rua=mailto:d", want: "p=none", behavior: Same,
			codes: "destination"},
		{name: "p moves", record: "v=DMARC1" + rua + "; p=reject", want: "p=reject" + rua, behavior: Same,
			codes: "legacy.stricter"},
		{name: "p is missing", record: "v=DMARC1; sp=reject" + rua, want: "p=none" + rua, behavior: Same,
			codes: "unreadable"},
		{name: "p is missing, no reports", record: "v=DMARC1; adkim=s", want: "p=none; adkim=s", behavior: Same,
			codes: "unusable"},
		{name: "p is not a policy", record: "v=DMARC1; p=rejct; pct=0" + rua, want: "p=none" + rua, behavior: Same,
			codes: "unreadable"},
		{name: "sp is not a policy", record: "v=DMARC1; p=reject; sp=rejct" + rua, want: "p=none" + rua, behavior: Same,
			codes: "unreadable"},
		{name: "np is not a policy", record: "v=DMARC1; p=reject; np=rejct" + rua, want: "p=none" + rua, behavior: Same,
			codes: "unreadable"},
		{name: "other values", record: "v=DMARC1; p=reject; adkim=strict; aspf=r; psd=x; t=1; fo=0:1:d" + rua,
			want: "p=reject; aspf=r; fo=1:d" + rua, behavior: Same},
		{name: "options", record: "v=DMARC1; p=reject; fo=7" + rua, want: "p=reject" + rua, behavior: Same},
		{name: "option twice", record: "v=DMARC1; p=reject; fo=d:d" + rua, want: "p=reject; fo=d" + rua, behavior: Same},
		{name: "repeated", record: "v=DMARC1; p=reject; p=none" + rua, want: "p=none" + rua, behavior: Same,
			codes: "unusable"},
		{name: "repeated with the same value", record: "v=DMARC1; p=reject; p=reject" + rua, want: "p=reject" + rua,
			behavior: Stricter, codes: "unusable stricter"},
		{name: "semicolon is missing", record: "v=DMARC1; p=reject rua=mailto:d@example.com", want: "p=none" + rua,
			behavior: Same,
			codes:    "unusable"},
		{name: "semicolon is missing before a policy", record: "v=DMARC1; p=none; adkim=r sp=reject" + rua,
			want:     "p=none" + rua,
			behavior: Same},
		{name: "debris", record: "v=DMARC1; p=reject; hello; x\xff=1; y=\xff; other=1" + rua, want: "p=reject; other=1" + rua,
			behavior: Same},
		{name: "strings of a zone file", record: `"v=DMARC1; p=reject; " "pct=100` + rua + `"`, want: "p=reject" + rua,
			behavior: Same},
		{name: "line of a zone file", record: `_dmarc.example.com. 3600 IN TXT "v=DMARC1; p=reject; pct=100` + rua + `"`,
			want: "p=reject" + rua, behavior: Same, codes: "line"},

		{name: "np is asked for", record: "v=DMARC1; p=none" + rua, np: policy.Reject, want: "p=none" + rua + "; np=reject",
			behavior: Stricter, incompatible: true, codes: "stricter"},
		{name: "np is there", record: "v=DMARC1; p=none; np=Reject" + rua, np: policy.Reject, behavior: Same,
			incompatible: true},
		{name: "np is replaced", record: "v=DMARC1; p=reject; np=reject" + rua, np: policy.None,
			want:     "p=reject; np=none" + rua,
			behavior: Looser, incompatible: true, codes: ""},
		{name: "np of a subdomain", record: "v=DMARC1; p=none" + rua, np: policy.None, domain: "news.example.com",
			want: "p=none" + rua + "; np=none", behavior: Same, codes: "np"},
		{name: "np of the domain", record: "v=DMARC1; p=none" + rua, np: policy.None, domain: "example.com",
			want: "p=none" + rua + "; np=none", behavior: Same},
		{name: "psd=n", record: "v=DMARC1; p=reject" + rua, psd: policy.NotPSD, domain: "example.com",
			want: "p=reject" + rua + "; psd=n", behavior: Same},
		{name: "psd=n of a subdomain", record: "v=DMARC1; p=reject" + rua, psd: policy.NotPSD, domain: "news.example.com",
			want: "p=reject" + rua + "; psd=n", behavior: Stricter, incompatible: true, codes: "stricter"},
		{name: "psd=y", record: "v=DMARC1; p=reject" + rua, psd: policy.IsPSD, domain: "example.com",
			want: "p=reject" + rua + "; psd=y", behavior: Stricter, incompatible: true, codes: "psd stricter"},
		{name: "psd=y of a public suffix", record: "v=DMARC1; p=reject" + rua, psd: policy.IsPSD, domain: "co.uk",
			want: "p=reject" + rua + "; psd=y", behavior: Stricter, codes: "stricter"},
		{name: "psd is taken back", record: "v=DMARC1; p=reject; psd=y" + rua, psd: policy.Undeclared, want: "p=reject" + rua,
			behavior: Looser},
		{name: "psd=u", record: "v=DMARC1; p=reject" + rua, psd: policy.Undeclared, behavior: Same},

		{name: "no record", record: "v=dmarc1; p=reject; pct=0", behavior: Same, codes: "version"},
		{name: "no record at all", record: "hello", behavior: Same, codes: "version"},
	}
	var seen diagtest.Seen
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := MigrateRequest{Record: tt.record, NonexistentSubdomainPolicy: tt.np, PSD: tt.psd}
			if tt.domain != "" {
				req.Domain = diag.MustDomain(tt.domain)
			}
			r, err := Migrate(req)
			require.NoError(t, err)
			seen.Add(migrateRules.Judge(convert(req), nil))
			if tt.want == "" {
				require.Equal(t, strings.ToValidUTF8(tt.record, "\uFFFD"), r.Migrated)
			} else {
				require.Equal(t, "v=DMARC1; "+tt.want, r.Migrated)
			}
			require.Equal(t, tt.want != "", r.Changed)
			require.Equal(t, tt.behavior, r.BehaviorChange)
			var codes []string
			for _, f := range r.Findings {
				codes = append(codes, strings.TrimPrefix(string(f.Code), "dmarcbis.migrate."))
			}
			require.Equal(t, tt.codes, strings.Join(codes, " "))
			if tt.codes != "version" {
				require.Equal(t, !tt.incompatible, r.BackwardCompatible)
				require.True(t, r.After.Valid, "%s", r.Migrated)
			}
			for _, c := range r.Changes {
				require.NotEmpty(t, c.Reason, "%+v", c)
				require.NotEmpty(t, c.Reference, "%+v", c)
			}
		})
	}
	require.NoError(t, migrateRules.Check())
	diagtest.CoverRules(t, migrateRules, seen)
}
