//go:build !race

package httpapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// TestPropertyCause examines each finding of mail/domain-check that is an error or worse and whose cause is in one
// record: the reply names the owner of the record and its text, and the value that a step gives ends the error.
func TestPropertyCause(t *testing.T) {
	worlds, errors, ended, faulty := 0, 0, 0, 0
	forEach(t, propertyCases(t, drillShare(4, 30)), func(t *testing.T, c drillCase, found *sync.Mutex) {
		c.play(t, func(r *drillRun) {
			reply := r.ask()
			if reply.status != 200 {
				return
			}
			steps := reply.report(r.t).Steps
			var faults []string
			n, valued := 0, 0
			for _, f := range reply.Findings {
				at := r.recordOf(&f, c.subject())
				if f.Severity < diag.Error || at.name == "" || notKnown(f.Code) {
					continue
				}
				n++
				for _, fault := range r.names(reply, &f, at) {
					faults = append(faults, fmt.Sprintf("%s %q: %s", f.Code, f.Detail, fault))
				}
				other := func(s view.Step) bool { return s.Code != f.Code || s.Value == "" }
				if own := slices.DeleteFunc(slices.Clone(steps), other); len(own) > 0 {
					valued++
					if why := r.ends(reply, own); why != "" {
						faults = append(faults, fmt.Sprintf("%s %q: %s", f.Code, f.Detail, why))
					}
				}
			}
			found.Lock()
			defer found.Unlock()
			worlds, errors, ended, faulty = worlds+1, errors+n, ended+valued, faulty+len(faults)
			for _, f := range faults {
				t.Error(f)
			}
		})
	})
	require.NotZero(t, errors)
	t.Logf("worlds: %d, errors in one record: %d, with a value: %d, faults: %d", worlds, errors, ended, faulty)
}

// A place is the location of a record.
type place struct {
	name, rrtype string
}

// recordOf returns the record that causes a finding; none for findings about hosts, servers and what is missing
// elsewhere.
func (r *drillRun) recordOf(f *diag.Finding, domain string) place {
	family, rest, _ := strings.Cut(string(f.Code), ".")
	switch {
	case family == "spf" && inOwnSPF.MatchString(rest):
		return place{domain, "TXT"}
	case family == "dmarc" && inDMARC.MatchString(rest):
		at := "_dmarc." + domain
		if rest == "record.missing" {
			return place{at, "TXT"}
		}
		for up := domain; up != ""; _, up, _ = strings.Cut(up, ".") { // it may be inherited
			if r.hasDMARC(up) {
				at = "_dmarc." + up
				break
			}
		}
		return place{at, "TXT"}
	case family == "dkim":
		return place{"_domainkey." + domain, "TXT"}
	case family == "mtasts" && strings.HasPrefix(rest, "record."):
		return place{"_mta-sts." + domain, "TXT"}
	case family == "tlsrpt" && inTLSRPT.MatchString(rest):
		return place{"_smtp._tls." + domain, "TXT"}
	case family == "bimi" && strings.HasPrefix(rest, "record."):
		return place{"default._bimi." + domain, "TXT"}
	case family == "mx" && inMX.MatchString(rest):
		return place{domain, "MX"}
	}
	return place{}
}

// hasDMARC reports whether a name has a text that is meant as a record of DMARC.
func (r *drillRun) hasDMARC(name string) bool {
	return slices.ContainsFunc(r.records("_dmarc."+name, dns.TypeTXT), func(rr dns.RR) bool {
		return dmarcText.MatchString(strings.Join(rr.(*dns.TXT).Txt, ""))
	})
}

var (
	inOwnSPF = regexp.MustCompile(`^(syntax|record|all|term|lookups|voids|include|redirect|senders|network)\.`)
	inTLSRPT = regexp.MustCompile(`^(record|rua|syntax)\.`)
	inMX     = regexp.MustCompile(`^(host|null|record)\.`)
	inDMARC  = regexp.MustCompile(`^(record|policy|syntax|tag|uri|rua)\.`)
)

// names lists what a reply omits of the record that is the cause: its owner and its text, in the finding, in the part
// that found it, or in the step that advises it.
func (r *drillRun) names(reply *drillReply, f *diag.Finding, at place) (faults []string) {
	var heard strings.Builder
	write := func(v any) {
		text, _ := json.Marshal(v)
		var plain any
		json.Unmarshal(text, &plain)
		fmt.Fprintln(&heard, texts(plain))
	}
	write(f)
	for _, s := range reply.report(r.t).Steps {
		if s.Code == f.Code {
			write(s)
		}
	}
	for _, part := range partsWith(reply.all, string(f.Code)) {
		write(part)
	}
	said := strings.ToLower(heard.String())
	owners := []string{at.name}
	if f.Code == "dmarc.record.missing" { // the policy of a parent that does not apply is the cause, too
		_, above, _ := strings.Cut(r.c.subject(), ".")
		for ; above != ""; _, above, _ = strings.Cut(above, ".") {
			if r.hasDMARC(above) {
				owners = append(owners, "_dmarc."+above)
			}
		}
	}
	for _, owner := range owners {
		if !strings.Contains(said, owner) {
			faults = append(faults, "the owner "+owner+" is not named")
		}
	}
	qtype := dns.StringToType[at.rrtype]
	for _, rr := range r.records(at.name, qtype) {
		text := ""
		switch rr := rr.(type) {
		case *dns.TXT:
			text = unescaped(rr.Txt)
			if spfText.MatchString(text) == strings.HasPrefix(at.name, "_") {
				continue // another record, or the target of an alias
			}
		case *dns.MX:
			text = strings.TrimSuffix(rr.Mx, ".")
		}
		if !strings.Contains(said, strings.ToLower(text)) && text != "" {
			faults = append(faults, fmt.Sprintf("the record %q is not named", text))
		}
	}
	return faults
}

// unescaped is the text of a record that is written as in a zone file.
func unescaped(list []string) string {
	text := regexp.MustCompile(`\\(\d{3})`).ReplaceAllStringFunc(strings.Join(list, ""), func(m string) string {
		n, _ := strconv.Atoi(m[1:])
		return string([]byte{byte(n)})
	})
	return strings.ReplaceAll(text, `\"`, `"`)
}

// texts joins all texts in a value.
func texts(v any) string {
	var list []string
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		for _, k := range sortedKeys(v) {
			list = append(list, texts(v[k]))
		}
	case []any:
		for _, item := range v {
			list = append(list, texts(item))
		}
	}
	return strings.Join(list, "\n")
}

// partsWith are the smallest objects in a reply that have findings of a code, but not the reply itself.
func partsWith(v any, code string) (list []any) {
	root, _ := v.(map[string]any)
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if findings, ok := v["findings"].([]any); ok && slices.ContainsFunc(findings, func(f any) bool {
				one, _ := f.(map[string]any)
				return one["code"] == code
			}) {
				list = append(list, v)
			}
			for _, k := range sortedKeys(v) {
				walk(v[k])
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(root["pillars"])
	return list
}

// ends returns why the steps for a finding do not end it; empty if they do.
func (r *drillRun) ends(before *drillReply, steps []view.Step) string {
	fresh, steps := r.copied(steps)
	for _, s := range steps {
		fresh.apply(before, s)
	}
	last := steps[len(steps)-1]
	return remains(before, fresh.ask(), last, steps)
}
