package phishing

import (
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

// Pages that have visitors run a command tell them to open a place where commands run, and to paste what a script has
// put into the clipboard, on the pretext of a check or a repair. Manuals have visitors paste as well, but show what.
var (
	writesClipboard = kit.Regexp(`(?i)clipboard\s*\.\s*write|execCommand\s*\(\s*["']copy|setData\s*\(\s*["']text`)
	commands        = kit.Regexp(`(?i)\b(?:powershell(?:\.exe)?|pwsh)\s+-|\b(?:mshta|msiexec|rundll32|regsvr32|certutil|` +
		`bitsadmin|wscript|curl|wget|iwr|irm|osascript)\s|\bcmd(?:\.exe)?\s*/c|invoke-webrequest|base64\s+-d|bash\s+-c|` +
		`\|\s*(?:ba|z)?sh\b|\|\s*iex\b`)
)

// The bounds of the visible text, in bytes: from maxNotice on a page is a manual and not a notice, and up to
// shortNotice it has nothing but the instructions.
const (
	maxNotice   = 1500
	shortNotice = 300
)

// keySigns are the signs of keys, in words.
var keySigns = strings.NewReplacer("⌘", " cmd ", "⊞", " win ")

// asksToPaste reports whether the page has visitors run a command that they do not see.
func (e *evidence) asksToPaste() bool {
	if len(e.page.Text) > maxNotice || commands().MatchString(e.page.Text) {
		return false
	}
	text := hintKey(keySigns.Replace(e.page.Text))
	if !containsPhrase(text, "pastes") {
		return false
	}
	opens := containsPhrase(text, "opens commands")
	if writesClipboard().Match(e.body) {
		return commands().Match(e.body) || opens && containsPhrase(hintKey(e.title())+text, "pretexts")
	}
	return opens && len(e.page.Text) <= shortNotice
}

// containsPhrase reports whether a text, as a key, has one of the phrases of a list as words of their own.
func containsPhrase(text, list string) bool {
	for _, p := range phrases()[list] {
		if strings.Contains(text, p) || !spaced(p) && strings.Contains(text, strings.TrimSpace(p)) {
			return true
		}
	}
	return false
}

// spaced reports whether a text is of a script that puts spaces between words.
func spaced(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x3040 })
}
