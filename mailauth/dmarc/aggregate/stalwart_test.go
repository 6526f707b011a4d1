package aggregate

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// A parse is the output of Stalwart's parser for a report, with words in lower case.
type parse struct {
	Version  float64
	Metadata struct {
		Organization string `json:"org_name"`
		Email        string
		Contact      string                     `json:"extra_contact_info"`
		ID           string                     `json:"report_id"`
		Range        struct{ Begin, End int64 } `json:"date_range"`
		Error        []string
		Generator    string
	} `json:"report_metadata"`
	Policy struct {
		Domain, ADKIM, ASPF, P, SP, NP, FO string
		Version                            string `json:"version_published"`
		Testing                            bool
		Discovery                          string `json:"discovery_method"`
	} `json:"policy_published"`
	Record     []parsedRecord
	Extensions []Extension
}

type parsedRecord struct {
	Row struct {
		Address string `json:"source_ip"`
		Count   int64
		Policy  struct {
			Disposition, DKIM, SPF string
			Reason                 []parsedReason
		} `json:"policy_evaluated"`
	}
	Identifiers struct {
		EnvelopeTo   string `json:"envelope_to"`
		EnvelopeFrom string `json:"envelope_from"`
		HeaderFrom   string `json:"header_from"`
	}
	Auth struct {
		DKIM []parsedAuth
		SPF  []parsedAuth
	} `json:"auth_results"`
	Extensions []Extension
}

type parsedReason struct {
	Type    string `json:"type_"`
	Comment string
}

type parsedAuth struct {
	Domain, Selector, Scope, Result string
	Human                           string `json:"human_result"`
}

// theirs is a word as their parser names it: the overrides that RFC 9990 dropped are other ones.
func theirs[T ~string](word T) string {
	switch s := strings.ReplaceAll(string(word), "_", ""); s {
	case "":
		return "unspecified"
	case "r":
		return "relaxed"
	case "s":
		return "strict"
	case "mfrom":
		return "mailfrom"
	case "forwarded", "sampledout":
		return "other"
	default:
		return s
	}
}

// parseOf brings a report into the form of their parser.
func parseOf(r *Report, records []Record) parse {
	var p parse
	p.Version, _ = strconv.ParseFloat(r.Metadata.SchemaVersion, 64)
	m := r.Metadata
	p.Metadata.Organization, p.Metadata.Email, p.Metadata.Contact = m.Organization, m.Email, m.ExtraContact
	p.Metadata.ID, p.Metadata.Generator = m.ReportID, m.Generator
	p.Metadata.Range.Begin, p.Metadata.Range.End = m.BeginAt.Unix(), m.EndAt.Unix()
	p.Metadata.Error = append([]string{}, m.Errors...)
	p.Policy.Domain, p.Policy.FO, p.Policy.Version = r.Policy.Domain, r.Policy.FailureOptions, r.Policy.Version
	p.Policy.ADKIM, p.Policy.ASPF = theirs(r.Policy.DKIMAlignment), theirs(r.Policy.SPFAlignment)
	p.Policy.P, p.Policy.SP = theirs(r.Policy.Policy), theirs(r.Policy.Subdomain)
	p.Policy.NP = theirs(r.Policy.Nonexistent)
	p.Policy.Testing, p.Policy.Discovery = r.Policy.Testing == "y", theirs(r.Policy.DiscoveryMethod)
	for _, from := range records {
		var to parsedRecord
		to.Row.Address, to.Row.Count = from.SourceIP.String(), from.Count
		policy := &to.Row.Policy
		policy.Disposition, policy.DKIM, policy.SPF = theirs(from.Disposition), theirs(from.DKIM), theirs(from.SPF)
		policy.Reason = []parsedReason{}
		for _, o := range from.Overrides {
			policy.Reason = append(policy.Reason, parsedReason{theirs(o.Type), o.Comment})
		}
		to.Identifiers.EnvelopeTo, to.Identifiers.EnvelopeFrom = from.EnvelopeTo, from.EnvelopeFrom
		to.Identifiers.HeaderFrom = from.HeaderFrom
		to.Auth.DKIM, to.Auth.SPF = []parsedAuth{}, []parsedAuth{}
		for _, d := range from.DKIMAuth {
			to.Auth.DKIM = append(to.Auth.DKIM, parsedAuth{d.Domain, d.Selector, "", theirs(d.Result), d.HumanResult})
		}
		for _, s := range from.SPFAuth {
			to.Auth.SPF = append(to.Auth.SPF, parsedAuth{s.Domain, "", theirs(s.Scope), theirs(s.Result), s.HumanResult})
		}
		to.Extensions = append([]Extension{}, from.Extensions...)
		p.Record = append(p.Record, to)
	}
	p.Extensions = append([]Extension{}, r.Extensions...)
	return p
}

// lowerWords puts the words of their parser in lower case, and what an older version of it leaves out.
func (p *parse) lowerWords() {
	words := []*string{&p.Policy.ADKIM, &p.Policy.ASPF, &p.Policy.P, &p.Policy.SP, &p.Policy.NP, &p.Policy.Discovery}
	for i := range p.Record {
		r := &p.Record[i]
		words = append(words, &r.Row.Policy.Disposition, &r.Row.Policy.DKIM, &r.Row.Policy.SPF)
		for j := range r.Row.Policy.Reason {
			words = append(words, &r.Row.Policy.Reason[j].Type)
		}
		for j := range r.Auth.DKIM {
			words = append(words, &r.Auth.DKIM[j].Result)
		}
		for j := range r.Auth.SPF {
			words = append(words, &r.Auth.SPF[j].Result, &r.Auth.SPF[j].Scope)
		}
	}
	for _, w := range words {
		*w = theirs(strings.ToLower(*w))
	}
}

// Stalwart's parser and this one agree on every field.
func TestConformanceStalwart(t *testing.T) {
	expected := diagtest.Suite(t, "mail/dmarc-reports/stalwart/*.json")
	for _, path := range expected {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var want parse
		require.NoError(t, json.Unmarshal(text, &want), path)
		want.lowerWords()
		source := strings.TrimSuffix(path, ".json") + ".xml"
		if _, err := os.Stat(source); err != nil {
			source = strings.TrimSuffix(path, ".json") + ".eml"
		}
		data, err := os.ReadFile(source)
		require.NoError(t, err, "the report that %s is about", path)
		r, records, err := read(t, data)
		require.NoError(t, err, path)
		require.Equal(t, want, parseOf(r, records), path)
	}
	t.Logf("%d reports parsed as expected, field by field", len(expected))
}
