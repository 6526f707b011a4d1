package resolve

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// maxSaid bounds the answers that a headline or a fact holds; more are a table.
const maxSaid = 3

// View presents the report.
func (r *Report) View() *view.View {
	v := view.OfText(
		cmp.Or(r.NameUnicode, r.Name.String())+view.TextIf(r.Class != "", " "+string(r.Class))+" "+r.Type.String(),
		r.Text,
		r.Findings,
		false,
	)
	var answers []string
	ttl := ""
	for _, a := range r.Answers {
		if a.Type == r.Type.String() {
			answers, ttl = append(answers, a.text()), lasts(a.TTL)
		}
	}
	v.Optional = len(answers) == 0
	shown := strings.Join(answers, ", ")
	if len(answers) > maxSaid || len(shown) > 200 {
		shown = phrase.Count(len(answers), r.Type.String()+" record")
	}
	if shown != "" && len(v.Findings) == 0 {
		v.Headline, v.Sub, v.Brief = shown, "", phrase.Clip(shown, 60)
	} else {
		v.Fact("answer", shown, "resolve.address")
	}
	for _, a := range r.Authority { // RFC 2308 section 5
		if words := strings.Fields(a.Data); len(answers) == 0 && a.Type == "SOA" && len(words) == 7 {
			minimum, _ := strconv.ParseUint(words[6], 10, 32)
			ttl = lasts(min(a.TTL, uint32(minimum))) + ": how long caches keep that there is none"
		}
	}
	v.Fact("ttl", ttl)
	if len(r.CNAMEChain) > 0 {
		v.Fact("alias", strings.Join(append([]string{r.Name.String()}, r.CNAMEChain...), " → "), "resolve.cname")
	}
	f := r.Flags
	flags := view.TextIf(f.AA, " aa") + view.TextIf(f.TC, " tc") + view.TextIf(f.RD, " rd") + view.TextIf(f.RA, " ra") +
		view.TextIf(f.AD, " ad") + view.TextIf(f.CD, " cd")
	v.Fact("status", view.Join(r.Rcode, view.TextIf(flags != "", "flags"+flags)), "resolve.rcode", "resolve.reply")
	v.Fact("server", strings.TrimSpace(r.Resolver.Name+" "+r.Resolver.Address)+
		view.TextIf(r.Resolver.Transport != "", " over "+strings.ToUpper(string(r.Resolver.Transport)))+
		view.TextIf(r.TruncatedOverUDP, ", as the answer did not fit into UDP")+fmt.Sprintf(", %d ms", r.LatencyMS))
	if r.NSID != nil {
		v.Fact("nsid", cmp.Or(*r.NSID, "none: the server sent no identifier"))
	}
	v.Fact("dnssec", string(r.DNSSEC), "resolve.dnssec")
	r.draw(v)
	return v
}

// draw draws the way to the answer if that was asked for, else the answer where it is more than a line.
func (r *Report) draw(v *view.View) {
	if len(r.Trace) == 0 {
		d := view.Drawing{Kind: view.Table, Title: "Answer", Columns: []string{"name", "ttl", "type", "data"}}
		for _, a := range r.Answers {
			if a.Type != "RRSIG" || r.Type.String() == a.Type { // whether they are right is a fact
				d.Row(a.Name, fmt.Sprint(a.TTL), a.Type, a.text())
			}
		}
		if len(d.Rows) > 1 {
			v.Drawing = &d
		}
		return
	}
	d := v.Rows(view.Chain, "From the root to the answer", "zone", "server", "reply", "ms")
	for _, s := range r.Trace {
		reply := cmp.Or(view.TextIf(s.Error == "" && len(s.Answers) > 0, phrase.Count(len(s.Answers), "record")),
			view.TextIf(s.Error == "" && len(s.ReferralNS) > 0, "refers to "+phrase.Series(s.ReferralNS, 1)), s.Rcode)
		d.StatusRow(view.MarkIf(s.Error != "", view.Unknown, s.Error), s.Zone,
			strings.TrimSpace(s.Server.Name+" "+s.Server.Address), reply, fmt.Sprint(s.LatencyMS))
	}
}

// text returns the data of the record; the strings of TXT are joined, as its users do.
func (r DNSRecord) text() string {
	if text, ok := r.Fields["text"].(string); ok {
		return text
	}
	return r.Data
}

// lasts is a TTL as dig shows it, and for people.
func lasts(ttl uint32) string {
	return fmt.Sprintf("%d (%s)", ttl, view.Seconds(ttl))
}

// View presents the report.
func (r *ReverseReport) View() *view.View {
	v := view.OfText(r.IP.String(), r.Text, r.Findings, false)
	v.Optional = len(r.Hostnames) == 0
	v.Fact("host names", phrase.Series(r.Hostnames, maxSaid), "reverse.hostname", "reverse.ptr.many")
	if len(r.Hostnames) > 0 {
		v.Fact("forward", r.forward(), "reverse.forward")
		v.Brief = view.Join(phrase.Series(r.Hostnames, 1), r.forward())
	}
	if r.TTL != nil {
		v.Fact("ttl", lasts(*r.TTL))
	}
	v.Fact("ptr name", r.PTRName)
	v.Fact("status", r.Rcode, "reverse.ptr.unanswered")
	if len(r.Forward) <= 1 && r.ForwardConfirmed {
		return v
	}
	d := v.Rows(view.Table, "Addresses of the host names", "host name", "addresses")
	for _, f := range r.Forward {
		d.StatusRow(cmp.Or(
			view.MarkIf(f.Rcode != "NOERROR" && f.Rcode != "NXDOMAIN", view.Unknown, cmp.Or(f.Rcode, "no answer")),
			view.MarkIf(!f.Matches, view.Warning, "does not lead back"),
			view.Standing{Mark: view.Good, Note: "leads back"}),
			f.Hostname, cmp.Or(phrase.Series(f.Addresses, maxSaid), "none"))
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
	return cmp.Or(view.TextIf(len(r.Forward) == 0, "not verified"), "not confirmed")
}
