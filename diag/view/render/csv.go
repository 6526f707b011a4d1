package render

import "strings"

// CSVCell returns a text on one line that no spreadsheet interprets as a formula.
func CSVCell(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if text != "" && strings.IndexByte("=+-@", text[0]) >= 0 {
		return "'" + text
	}
	return text
}
