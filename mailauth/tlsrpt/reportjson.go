package tlsrpt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
)

// The members of the JSON text (RFC 8460 section 4.4). Their values are read one by one, so that one of a wrong type
// does not affect the others.
type object map[string]json.RawMessage

type reader struct {
	*Report
	where   string // of faults, such as "Policy 2"
	details int
	found   bool // whether a member belongs to a report
}

// parseJSON reads the text member by member: members before a syntax error are kept.
func parseJSON(text []byte) (*Report, error) {
	text = trim(text)
	if !bytes.HasPrefix(text, []byte("{")) {
		return nil, errors.New("it is not a JSON object: " + guess(text))
	}
	r := reader{Report: &Report{}, where: "The report"}
	d := json.NewDecoder(bytes.NewReader(text))
	err := r.members(d)
	r.More = err == nil && len(bytes.Trim(text[d.InputOffset():], " \t\r\n\x00")) > 0
	if !r.found {
		if err != nil {
			return nil, fmt.Errorf("it is damaged JSON: %s", phrase.Quote(err.Error()))
		}
		return nil, errors.New("it is JSON, but has none of the members of a report, such as policies")
	}
	if err != nil {
		r.fault("The JSON text is damaged, and what follows is left out: %s", phrase.Quote(err.Error()))
	}
	if len(r.Policies) == 0 {
		r.fault("The report has no policies")
	}
	for _, p := range r.Policies {
		r.Successful, r.Failed = add(r.Successful, p.Successful), add(r.Failed, p.Failed)
	}
	return r.Report, nil
}

func (r *reader) members(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	top := object{}
	defer func() { r.head(top) }()
	return each(d, func(name string) error {
		if name == "policies" {
			r.found = true
			return r.policies(d)
		}
		var value json.RawMessage
		err := d.Decode(&value)
		switch name {
		case "organization-name", "contact-info", "report-id", "date-range":
			top[name] = value
		}
		return err
	})
}

// each reads the members of an object whose first brace has been read, and calls a function to read each value.
func each(d *json.Decoder, value func(name string) error) error {
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if err := value(name); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func (r *reader) head(top object) {
	r.found = r.found || top["report-id"] != nil && top["organization-name"] != nil
	r.where = "The report"
	r.Organization = r.text(top, "organization-name")
	r.ContactInfo = r.text(top, "contact-info")
	r.ID = r.text(top, "report-id")
	span := r.object(top, "date-range")
	r.Begin, r.End = r.date(span, "start-datetime"), r.date(span, "end-datetime")
	if !r.Begin.IsZero() && r.End.Before(r.Begin) && !r.End.IsZero() {
		r.fault("The report ends at %s, before it begins", r.End.Format(time.RFC3339))
	}
}

// policies reads an array, or the one object that some senders write instead.
func (r *reader) policies(d *json.Decoder) error {
	var value json.RawMessage
	token, err := d.Token()
	switch {
	case err != nil:
		return err
	case token == json.Delim('{'):
		r.fault("The member policies is an object, not an array")
		return r.lonePolicy(d)
	case token != json.Delim('['):
		r.fault("The member policies is not an array")
		return nil
	}
	for i := 1; d.More(); i++ {
		if err := d.Decode(&value); err != nil {
			return err
		}
		r.where = fmt.Sprintf("Policy %d", i)
		if len(r.Policies) == maxPolicies {
			r.fault("%s and those after it are left out: %d are read", r.where, maxPolicies)
			break
		}
		var o object
		if json.Unmarshal(value, &o) != nil || o == nil {
			r.fault("%s is not an object and is left out", r.where)
			continue
		}
		r.Policies = append(r.Policies, r.policy(o))
	}
	for d.More() {
		if err := d.Decode(&value); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// lonePolicy reads a policy whose first brace has been read.
func (r *reader) lonePolicy(d *json.Decoder) error {
	o := object{}
	err := each(d, func(name string) error {
		var value json.RawMessage
		err := d.Decode(&value)
		o[name] = value
		return err
	})
	if r.where = "Policy 1"; err == nil {
		r.Policies = append(r.Policies, r.policy(o))
	}
	return err
}

func (r *reader) policy(o object) PolicyReport {
	about, summary := r.object(o, "policy"), r.object(o, "summary")
	p := PolicyReport{
		Type: PolicyType(strings.ToLower(r.text(about, "policy-type"))), Domain: r.text(about, "policy-domain"),
		Strings: r.list(about, "policy-string"), MXHosts: r.list(about, "mx-host"),
		Successful: r.count(summary, "total-successful-session-count"),
		Failed:     r.count(summary, "total-failure-session-count"),
	}
	if !p.Type.known() {
		r.fault("%s has the type %s, which RFC 8460 does not define", r.where, quote(string(p.Type)))
	}
	var details []json.RawMessage
	if value := o["failure-details"]; value != nil && json.Unmarshal(value, &details) != nil {
		details = []json.RawMessage{value}
	}
	where, failed := r.where, int64(0)
	for i, value := range details {
		r.where = fmt.Sprintf("Failure %d of %s%s", i+1, strings.ToLower(where[:1]), where[1:])
		var detail object
		switch r.details++; {
		case r.details > maxFailures:
			r.fault("%s and those after it are left out: %d are read", r.where, maxFailures)
			return p
		case json.Unmarshal(value, &detail) != nil || detail == nil:
			r.fault("%s is not an object and is left out", r.where)
			continue
		}
		f := r.failure(detail)
		p.Failures, failed = append(p.Failures, f), add(failed, f.Sessions)
	}
	if r.where = where; failed != p.Failed && len(p.Failures) > 0 {
		r.fault("%s counts %d failed sessions, and its details %d", where, p.Failed, failed)
	}
	return p
}

func (r *reader) failure(o object) FailureDetail {
	f := FailureDetail{
		Result: ResultType(strings.ToLower(r.text(o, "result-type"))), SendingIP: r.address(o, "sending-mta-ip"),
		ReceivingIP: r.address(o, "receiving-ip"), ReceivingMXHostname: r.text(o, "receiving-mx-hostname"),
		ReceivingMXHELO: r.text(o, "receiving-mx-helo"), Sessions: r.count(o, "failed-session-count"),
		AdditionalInformation: r.text(o, "additional-information"), ReasonCode: r.text(o, "failure-reason-code"),
	}
	if !slices.Contains(resultTypes, f.Result) {
		r.fault("%s has the result type %s, which is not registered", r.where, quote(string(f.Result)))
	}
	return f
}

func (r *reader) object(o object, name string) (inner object) {
	if value := o[name]; value != nil && json.Unmarshal(value, &inner) != nil {
		r.fault("%s: %s is not an object", r.where, name)
	}
	return inner
}

// text returns a string. Other values are returned as written, except null.
func (r *reader) text(o object, name string) (s string) {
	value := o[name]
	switch err := json.Unmarshal(value, &s); {
	case value == nil, string(value) == "null":
		return ""
	case err != nil:
		r.fault("%s: %s is not a string", r.where, name)
		return string(value)
	}
	return strings.TrimSpace(s)
}

// list returns strings; one string instead of an array is accepted.
func (r *reader) list(o object, name string) (list []string) {
	value := o[name]
	if value == nil || json.Unmarshal(value, &list) == nil {
		return list
	}
	if s := r.text(o, name); s != "" {
		list = []string{s}
	}
	return list
}

func (r *reader) count(o object, name string) int64 {
	value := strings.Trim(string(o[name]), `"`)
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case value == "" || value == "null":
		return 0
	case err != nil || n < 0:
		r.fault("%s: %s is %s, not a number of sessions", r.where, name, quote(value))
		return 0
	}
	return n
}

func (r *reader) address(o object, name string) netip.Addr {
	s := strings.TrimSuffix(strings.TrimPrefix(r.text(o, name), "["), "]")
	ip, err := netip.ParseAddr(s)
	if err != nil && s != "" {
		r.fault("%s: %s is %s, not an IP address", r.where, name, quote(s))
	}
	return ip.Unmap()
}

// date returns a time of RFC 3339; without a zone, as some senders write it, it is UTC.
func (r *reader) date(o object, name string) time.Time {
	s := r.text(o, name)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	r.fault("%s: %s is %s, not a time of RFC 3339", r.where, name, quote(s))
	return time.Time{}
}
