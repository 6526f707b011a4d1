package mx

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/reception"
	"github.com/miekg/dns"
)

// Request asks for the examination of one domain.
type Request struct {
	Domain diag.Domain `json:"domain" doc:"domain that receives mail" example:"example.com"`
}

// Report says where the mail of a domain goes, and what to think of it.
type Report struct {
	diag.RecordLookup
	diag.Verdict
	NullMX     bool   `json:"null_mx" doc:"whether the domain says that it receives no mail (RFC 7505)"`
	ImplicitMX bool   `json:"implicit_mx" doc:"whether mail goes to the domain's own address for want of MX records"`
	Hosts      []Host `json:"hosts" maxitems:"50" doc:"mail servers, the most preferred first"`
	Partial    bool   `json:"partial" doc:"whether something could not be learned"`
}

// A Host is a mail server of the domain.
type Host struct {
	reception.MXHost
	SharesPreference bool              `json:"shares_preference" doc:"whether another host has the same preference"`
	CNAMEChain       []string          `json:"cname_chain" doc:"aliases between the name and its addresses"`
	DNSSEC           diag.DNSSECStatus `json:"dnssec_status" doc:"what is known of the authenticity of the addresses"`
	Error            string            `json:"error,omitempty" doc:"why not all of its addresses are known"`
}

// Lookup finds the mail servers of a domain and examines what the DNS says about them. The error is that of the
// context if it ended, or wraps [diag.ErrUnavailable] if nothing could be learned.
func Lookup(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	if req.Domain.IsZero() {
		return nil, diag.Invalid("domain", "is missing")
	}
	e, err := gather(ctx, env, req.Domain)
	if err != nil {
		return nil, err
	}
	e.digest()
	return e.report(env.Now()), nil
}

// Rules describes what is examined.
func (*Report) Rules() []diag.RuleInfo { return rules.Describe() }

func (e *evidence) report(ended time.Time) *Report {
	_, known := e.mail.Receives()
	r := &Report{
		RecordLookup: diag.NewRecordLookup(e.domain.Name(), e.mail.MX, presentation(e.mail.MX), e.now, ended),
		Verdict:      rules.Judge(e, texts), NullMX: e.mail.NullMX(), ImplicitMX: e.mail.Implicit && known, Hosts: []Host{},
		Partial: slices.ContainsFunc(e.Unanswered(), func(s diag.Source) bool { return s != fromList }),
	}
	count := map[uint16]int{}
	for _, h := range e.hosts {
		count[h.Preference]++
	}
	for _, h := range e.hosts {
		host := Host{
			MXHost: h.MXHost(), SharesPreference: count[h.Preference] > 1, CNAMEChain: h.Aliases(), DNSSEC: h.DNSSEC(),
		}
		if err := h.Err(); err != nil {
			host.Error = diag.Reason(err)
		}
		r.Hosts = append(r.Hosts, host)
	}
	return r
}

func presentation(a diag.Answer[*dns.MX]) []string {
	return diag.Map(a.Records, func(mx *dns.MX) string { return data(mx.Preference, mx.Mx) })
}

func data(preference uint16, host string) string {
	return fmt.Sprintf("%d %s", preference, dns.CanonicalName(host))
}
