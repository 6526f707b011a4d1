package aggregate

// These are called where sections begin and end.

func (b *builder) openFeedback() bool { b.has.feedback = true; return true }
func (b *builder) closeFeedback()     { b.ended = true }
func (b *builder) openMetadata() bool { b.has.metadata = true; return true }
func (b *builder) openPolicy() bool   { b.has.policy = true; return true }
func (b *builder) closePolicy()       { b.policy = &b.report.Policy }

func (b *builder) openRecord() bool {
	if *b.room == 0 {
		b.report.Excess = true
		b.fault(tooMany, "record", nil)
		return false
	}
	*b.room--
	line, _ := b.scan.place()
	b.rec = Record{
		Report: b.number, Number: b.report.Records + 1, Line: line, Policy: b.policy, Overrides: b.rec.Overrides[:0],
		DKIMAuth: b.rec.DKIMAuth[:0], SPFAuth: b.rec.SPFAuth[:0], Extensions: b.rec.Extensions[:0],
	}
	b.inRecord, b.counted, b.uncountable = true, false, false
	return true
}

func (b *builder) closeRecord() {
	defer func() { b.inRecord = false }()
	r := &b.rec
	b.report.Records++
	b.has.record = b.has.record || r.SourceText != "" || b.counted // other XML has elements of that name too
	b.require("row/source_ip", r.SourceText)
	b.require("policy_evaluated/disposition", string(r.Disposition))
	b.require("policy_evaluated/dkim", string(r.DKIM))
	b.require("policy_evaluated/spf", string(r.SPF))
	b.require("identifiers/header_from", r.HeaderFrom)
	if !b.counted {
		b.fault(badCount, "row/count", nil)
	}
	if b.counted && !b.uncountable {
		b.report.Read++
		b.report.Messages += r.Count
		b.err = b.each(r)
	}
}

// require tells that an element is missing.
func (b *builder) require(path, value string) {
	if value == "" {
		b.fault(missing, path, nil)
	}
}

func (b *builder) openReason() bool { return more(b, &b.rec.Overrides, "policy_evaluated/reason") }

func (b *builder) closeReason() {
	switch o := *last(b.rec.Overrides); {
	case o == Override{}:
		b.fault(empty, "policy_evaluated/reason", nil)
		drop(&b.rec.Overrides)
	case o.Type == "":
		b.fault(missing, "policy_evaluated/reason/type", []byte(o.Comment))
	}
}

func (b *builder) openDKIM() bool { return more(b, &b.rec.DKIMAuth, "auth_results/dkim") }

func (b *builder) closeDKIM() {
	d := *last(b.rec.DKIMAuth)
	if (d == DKIMAuth{}) {
		b.fault(empty, "auth_results/dkim", nil)
		drop(&b.rec.DKIMAuth)
		return
	}
	b.require("auth_results/dkim/domain", d.Domain)
	b.require("auth_results/dkim/result", string(d.Result))
}

func (b *builder) openSPF() bool { return more(b, &b.rec.SPFAuth, "auth_results/spf") }

func (b *builder) closeSPF() {
	s := *last(b.rec.SPFAuth)
	if (s == SPFAuth{}) {
		b.fault(empty, "auth_results/spf", nil)
		drop(&b.rec.SPFAuth)
		return
	}
	b.require("auth_results/spf/domain", s.Domain)
	b.require("auth_results/spf/result", string(s.Result))
}

// openExtension keeps the name of an extension, and leaves its contents unread.
func (b *builder) openExtension() bool {
	list := &b.report.Extensions
	if b.inRecord {
		list = &b.rec.Extensions
	}
	if more(b, list, "extensions/extension") {
		*last(*list) = Extension{b.internText(attribute(b.tag.attributes, "name")),
			b.internText(attribute(b.tag.attributes, "definition"))}
	}
	return false
}

// more adds an element to a list that has room.
func more[T any](b *builder, list *[]T, path string) bool {
	if len(*list) == maxAuth {
		b.fault(tooMany, path, nil)
		return false
	}
	*list = append(*list, *new(T))
	return true
}

func last[T any](list []T) *T { return &list[len(list)-1] }

func drop[T any](list *[]T) { *list = (*list)[:len(*list)-1] }
