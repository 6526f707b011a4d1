package resolve

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// maxSaid bounds the answers that a headline or a fact holds; more are a table.
const maxSaid = 3

// View is what a person sees of the report: the answer first.
func (r *Report) View() *view.View {
	v := view.OfText(cmp.Or(r.NameUnicode, r.Name.String())+" "+r.Type.String(), r.Text, r.Findings)
	var answers []string
	ttl := ""
	for _, a := range r.Answers {
		if a.Type == r.Type.String() {
			answers, ttl = append(answers, a.text()), lasts(a.TTL)
		}
	}
	v.Optional = len(answers) == 0
	said := strings.Join(answers, ", ")
	if len(answers) > maxSaid || len(said) > 200 {
		said = diag.Count(len(answers), r.Type.String()+" record")
	}
	if said != "" && len(v.Findings) == 0 {
		v.Headline, v.Sub, v.Brief = said, "", diag.Clip(said, 60)
	} else {
		v.Fact("answer", said, "resolve.address")
	}
	for _, a := range r.Authority {
		if words := strings.Fields(a.Data); len(answers) == 0 && a.Type == "SOA" && len(words) == 7 { // RFC 2308 section 5
			minimum, _ := strconv.ParseUint(words[6], 10, 32)
			ttl = lasts(min(a.TTL, uint32(minimum))) + ": how long caches keep that there is none"
		}
	}
	v.Fact("ttl", ttl)
	if len(r.CNAMEChain) > 0 {
		v.Fact("alias", strings.Join(append([]string{r.Name.String()}, r.CNAMEChain...), " → "), "resolve.cname")
	}
	v.Fact("status", r.Rcode+" · "+r.Flags.text(), "resolve.rcode", "resolve.reply")
	v.Fact("server", r.Resolver.text(r.LatencyMS, r.TruncatedOverUDP))
	v.Fact("dnssec", string(r.DNSSEC), "resolve.dnssec")
	v.Draw(r.drawing())
	return v
}

// drawing is the way to the answer if that was asked for, else the answer where it is more than a line.
func (r *Report) drawing() view.Drawing {
	if len(r.Trace) == 0 {
		d := view.Drawing{Kind: view.Table, Title: "Answer", Columns: []string{"name", "ttl", "type", "data"}}
		for _, a := range r.Answers {
			if a.Type != "RRSIG" || r.Type.String() == a.Type { // whether they are right is a fact
				d.Row(a.Name, fmt.Sprint(a.TTL), a.Type, a.text())
			}
		}
		if len(d.Rows) < 2 {
			return view.Drawing{}
		}
		return d
	}
	d := view.Drawing{Kind: view.Chain, Title: "From the root to the answer"}
	d.Columns = []string{"zone", "server", "reply", "ms"}
	for _, s := range r.Trace {
		mark, reply := view.None, s.Rcode
		switch {
		case s.Error != "":
			mark = view.Unknown
		case len(s.Answers) > 0:
			reply = diag.Count(len(s.Answers), "record")
		case len(s.ReferralNS) > 0:
			reply = "refers to " + diag.Series(s.ReferralNS, 1)
		}
		server := strings.TrimSpace(s.Server.Name + " " + s.Server.Address)
		d.Marked(mark, s.Error, s.Zone, server, reply, fmt.Sprint(s.LatencyMS))
	}
	return d
}

// text is the data of the record; those of TXT as who reads them takes them, in one piece.
func (r DNSRecord) text() string {
	if text, ok := r.Fields["text"].(string); ok {
		return text
	}
	return r.Data
}

// lasts is a TTL as dig shows it, and for people.
func lasts(ttl uint32) string {
	return fmt.Sprintf("%d (%s)", ttl, diag.Span(time.Duration(ttl)*time.Second))
}

// text lists the flags that are set, by their names in dig.
func (f Flags) text() string {
	var set []string
	for _, flag := range []struct {
		name string
		is   bool
	}{{"aa", f.AA}, {"tc", f.TC}, {"rd", f.RD}, {"ra", f.RA}, {"ad", f.AD}, {"cd", f.CD}} {
		if flag.is {
			set = append(set, flag.name)
		}
	}
	return "flags " + strings.Join(set, " ")
}

func (r Resolver) text(ms int64, truncated bool) string {
	text := strings.TrimSpace(r.Name + " " + r.Address)
	if r.Transport != "" {
		text += " over " + strings.ToUpper(string(r.Transport))
	}
	if truncated {
		text += ", as the answer did not fit into UDP"
	}
	return fmt.Sprintf("%s, %d ms", text, ms)
}

// View is what a person sees of the report.
func (r *ReverseReport) View() *view.View {
	v := view.OfText(r.IP.String(), r.Text, r.Findings)
	v.Optional = len(r.Hostnames) == 0
	v.Fact("host names", diag.Series(r.Hostnames, maxSaid), "reverse.hostname", "reverse.ptr.many")
	if len(r.Hostnames) > 0 {
		v.Fact("forward", r.forward(), "reverse.forward")
		v.Brief = view.Join(diag.Series(r.Hostnames, 1), r.forward())
	}
	if r.TTL != nil {
		v.Fact("ttl", lasts(*r.TTL))
	}
	v.Fact("ptr name", r.PTRName)
	v.Fact("status", r.Rcode, "reverse.ptr.unanswered")
	if len(r.Forward) > 1 || !r.ForwardConfirmed {
		d := view.Drawing{Kind: view.Table, Title: "Addresses of the host names", Columns: []string{"host name", "addresses"}}
		for _, f := range r.Forward {
			mark, note := view.Good, "leads back"
			switch {
			case f.Rcode == "" || f.Rcode != "NOERROR" && f.Rcode != "NXDOMAIN":
				mark, note = view.Unknown, cmp.Or(f.Rcode, "no answer")
			case !f.Matches:
				mark, note = view.Warning, "does not lead back"
			}
			d.Marked(mark, note, f.Hostname, cmp.Or(diag.Series(f.Addresses, maxSaid), "none"))
		}
		v.Draw(d)
	}
	return v
}

// forward says whether a host name leads back to the address.
func (r *ReverseReport) forward() string {
	for _, f := range r.Forward {
		if f.Matches {
			return fmt.Sprintf("confirmed: %s has %s", f.Hostname, r.IP)
		}
	}
	if len(r.Forward) == 0 {
		return "not verified"
	}
	return "not confirmed"
}
