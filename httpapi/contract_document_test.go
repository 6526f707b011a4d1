package httpapi

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/require"
)

// section returns the text of CONTRACT.md from one heading to the next of the same depth.
func section(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("CONTRACT.md")
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(text), "\n"+heading)
	require.True(t, ok, heading)
	depth, _, _ := strings.Cut(heading, " ")
	part, _, _ := strings.Cut(after, "\n"+depth+" ")
	return part
}

// cellsOf returns the cells of a row of a table; a pipe in a cell is escaped.
func cellsOf(row string) []string {
	cells := strings.Split(strings.ReplaceAll(strings.Trim(row, "|"), `\|`, "\x00"), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|"))
	}
	return cells
}

// firstColumn lists the names in backquotes that begin the rows of a section's tables.
func firstColumn(t *testing.T, heading string) []string {
	names := []string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section(t, heading), -1) {
		names = append(names, m[1])
	}
	return names
}

// The contract has the types that operations share, with all of their members, as the OpenAPI document describes them.
func TestContractTypes(t *testing.T) {
	schemas := newDocument(t).root["components"].(map[string]any)["schemas"].(map[string]any)
	rows := 0
	for line := range strings.SplitSeq(section(t, "## 2. "), "\n") {
		name := regexp.MustCompile("^\\| `(\\w+)`").FindStringSubmatch(line)
		if name == nil {
			continue
		}
		rows++
		require.Contains(t, schemas, name[1])
		described := schemas[name[1]].(map[string]any)
		if parts, ok := described["allOf"].([]any); ok { // its own members come last
			described = parts[len(parts)-1].(map[string]any)
		}
		required := described["required"]
		for member := range described["properties"].(map[string]any) {
			require.Regexp(t, `\b`+member+`\b`, line, "%s has the member %s", name[1], member)
			if !slices.Contains(required.([]any), any(member)) {
				require.Regexp(t, member+"`?\\?", line, "%s: %s is optional", name[1], member)
			}
		}
	}
	require.GreaterOrEqual(t, rows, 16)
}

// The contract has the codes of errors with the statuses and reasons that the server uses, and the headers.
func TestContractErrorsAndHeaders(t *testing.T) {
	require.Equal(t, ErrorCode("").Values(), firstColumn(t, "### 1.3 "))
	table := section(t, "### 1.3 ")
	row := func(code ErrorCode) string {
		return regexp.MustCompile("(?m)^\\| `" + string(code) + "` .*$").FindString(table)
	}
	for status, r := range problemStatuses {
		for _, code := range r.codes {
			require.Contains(t, strings.Fields(cellsOf(row(code))[1]), fmt.Sprint(status), code)
		}
	}
	for code, reasons := range map[ErrorCode][]string{
		InvalidRequest: {reasonMalformed, reasonInvalid, reasonUnknown, reasonMissing, reasonNotFound, reasonMethod, reasonTooLarge,
			reasonBodyTimeout,
			reasonMediaType, reasonIdempotency},
		InternalError:       {reasonInternal, reasonUnavailable, reasonTimeout, reasonOverloaded},
		IdempotencyConflict: {reasonBodyMismatch, reasonInFlight, reasonReplyGone},
	} {
		for _, reason := range reasons {
			require.Contains(t, row(code), "`"+reason+"`")
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(sentHeaders())), firstColumn(t, "### 1.2 "))
}

// The contract has the types of events, in their order, and the plans.
func TestContractEventsAndPlans(t *testing.T) {
	types := []metering.EventType{}
	for _, m := range regexp.MustCompile("`([a-z_]+\\.[a-z_]+)`").FindAllStringSubmatch(section(t, "## 7. "), -1) {
		types = append(types, metering.EventType(m[1]))
	}
	require.Equal(t, metering.EventTypes(), types)

	plans := metering.DefaultPlans()
	require.ElementsMatch(t, slices.Collect(maps.Keys(plans)), plansOf(t))
	for line := range strings.SplitSeq(section(t, "### 4.2 "), "\n") {
		if cells := cellsOf(line); len(cells) == 5 && strings.HasPrefix(cells[0], "`") {
			p := plans[metering.PlanID(strings.Trim(cells[0], "`"))]
			plain := strings.NewReplacer(",", "")
			require.Equal(t, fmt.Sprint(p.Credits), plain.Replace(cells[2]))
			require.Equal(t, fmt.Sprint(p.PerMinute), plain.Replace(cells[3]))
			overage := "hard cap"
			if !p.HasHardCap() {
				overage = fmt.Sprintf("%.2f EUR", float64(p.OverageRate)*1000/100/metering.MicrosPerCent)
			}
			require.Equal(t, overage, cells[4])
		}
	}
}

func plansOf(t *testing.T) []metering.PlanID {
	ids := []metering.PlanID{}
	for _, name := range firstColumn(t, "### 4.2 ") {
		ids = append(ids, metering.PlanID(name))
	}
	return ids
}

// The contract has the section that a comment cites.
func TestContractCitations(t *testing.T) {
	text, err := os.ReadFile("CONTRACT.md")
	require.NoError(t, err)
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (\d+(?:\.\d+)*)\.? `).FindAllStringSubmatch(string(text), -1) {
		known[m[1]] = true
	}
	citation, cited := regexp.MustCompile(`CONTRACT(?:\.md)? (?:part )?(\d+(?:\.\d+)*)`), 0
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range citation.FindAllStringSubmatch(string(source), -1) {
			cited++
			require.True(t, known[m[1]], "%s: there is no section %s", path, m[1])
		}
		return err
	}))
	require.Greater(t, cited, 100)
}
