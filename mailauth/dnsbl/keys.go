package dnsbl

import (
	"encoding/json"
	"fmt"
	"strings"
)

// KeysFile is the name of the file of keys among those of the operator, see [diag.List]: a JSON object from the name
// of an account, as key_name has it in the file of lists, to its key. There is no built-in one. A key is part of the
// name that is looked up, and of nothing else: reports, errors and logs do not have it.
const KeysFile = "dnsbl-keys.json"

// A secret is a key. Formatting it does not show it.
type secret struct{ text string }

func (secret) String() string   { return "(secret)" }
func (secret) GoString() string { return "(secret)" }

type keys map[string]secret

// maxKey bounds a key, which is a label of the DNS (RFC 1035 section 2.3.4) with its dot.
const maxKey = 64

// CheckKeys returns what is wrong with a file of keys, or nil. The error does not tell what stands in the file.
func CheckKeys(data []byte) error { _, err := parseKeys(data); return err }

// parseKeys reads a file of keys. The error does not tell what stands in it, not even names, for they may have been
// exchanged with keys.
func parseKeys(data []byte) (keys, error) {
	if err := checkJSON(data); err != nil {
		return nil, err
	}
	k, number := keys{}, 0
	err := eachMember(data, func(name string, value json.RawMessage) error {
		number++
		var text string
		if err := json.Unmarshal(value, &text); err != nil || !isID(name) || !isKey(text) {
			return fmt.Errorf("member %d is not the name of an account and a key of letters, digits and hyphens", number)
		}
		if _, twice := k[name]; twice {
			return fmt.Errorf("member %d: the account has a key already", number)
		}
		k[name] = secret{text}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

func isKey(s string) bool {
	return s != "" && len(s) < maxKey &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// place returns where a list is asked, absolute, and whether with a key; empty if not at all.
func (k keys) place(l *List) (zone string, keyed bool) {
	if key, ok := k[l.KeyName]; ok && l.KeyedZone != "" {
		return strings.Replace(l.KeyedZone, keyMark, key.text, 1) + ".", true
	}
	if l.Zone == "" {
		return "", false
	}
	return l.Zone + ".", false
}

// scrub takes the keys out of a text of strangers, who may repeat what they were asked.
func (k keys) scrub(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	for _, key := range k {
		for {
			at := strings.Index(lower(s), lower(key.text))
			if at < 0 {
				break
			}
			s = s[:at] + "…" + s[at+len(key.text):]
		}
	}
	return s
}

// lower is a text in lower case as the DNS compares names (RFC 4343 section 3). Its length stays as it is.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}
