package observatory

import (
	_ "embed" // outcomes.txt
	"fmt"
	"strings"
	"sync"
)

// bonusFrom is the score without bonuses from which bonuses count.
const bonusFrom = 90

// grades are the lowest scores of each grade.
var grades = []struct {
	from  int
	grade string
}{
	{100, "A+"}, {90, "A"}, {85, "A-"}, {80, "B+"}, {70, "B"}, {65, "B-"}, {60, "C+"}, {50, "C"}, {45, "C-"},
	{40, "D+"}, {30, "D"}, {25, "D-"},
}

func gradeOf(score int) string {
	for _, g := range grades {
		if score >= g.from {
			return g.grade
		}
	}
	return "F"
}

// An outcome is what a result of a test means.
type outcome struct {
	modifier int
	pass     bool
}

//go:embed outcomes.txt
var outcomeText string

// outcomes are all results: the points and whether the test is passed.
var outcomes = sync.OnceValue(func() map[string]outcome {
	all := map[string]outcome{}
	for line := range strings.Lines(outcomeText) {
		var name, word string
		var o outcome
		if n, _ := fmt.Sscan(line, &name, &o.modifier, &word); n == 3 {
			o.pass = word == "pass"
			all[name] = o
		}
	}
	return all
})
