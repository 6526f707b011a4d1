package dmarcbis

import "slices"

// A DiffOp is what becomes of a line.
type DiffOp string

// The operations.
const (
	diffKeep   DiffOp = "keep"
	diffRemove DiffOp = "remove"
	diffAdd    DiffOp = "add"
)

// Values lists the operations.
func (DiffOp) Values() []string {
	return []string{string(diffKeep), string(diffRemove), string(diffAdd)}
}

// A DiffLine is a tag of one of two records, or of both.
type DiffLine struct {
	Op   DiffOp `json:"op" doc:"whether only the original has it, only the migrated record, or both"`
	Text string `json:"text" doc:"the tag and its value"`
}

// maxDiffTags bounds the tags that are set side by side; beyond it the records are shown one after the other.
// Comparing takes the square of their number, and DMARC knows 14.
const maxDiffTags = 100

// diff sets two lists side by side by their longest common subsequence.
func diff(before, after []string) []DiffLine {
	lines := []DiffLine{}
	add := func(op DiffOp, list []string) {
		for _, text := range list {
			lines = append(lines, DiffLine{op, text})
		}
	}
	if len(before) > maxDiffTags || len(after) > maxDiffTags {
		if slices.Equal(before, after) {
			add(diffKeep, before)
			return lines
		}
		add(diffRemove, before)
		add(diffAdd, after)
		return lines
	}
	common := commonLengths(before, after)
	i, j := 0, 0
	for i < len(before) && j < len(after) {
		switch {
		case before[i] == after[j]:
			add(diffKeep, before[i:i+1])
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			add(diffRemove, before[i:i+1])
			i++
		default:
			add(diffAdd, after[j:j+1])
			j++
		}
	}
	add(diffRemove, before[i:])
	add(diffAdd, after[j:])
	return lines
}

// commonLengths returns the lengths of the longest common subsequences of before[i:] and after[j:].
func commonLengths(before, after []string) [][]int {
	table := make([][]int, len(before)+1)
	for i := range table {
		table[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if before[i] == after[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}
