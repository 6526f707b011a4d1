package textutil

import (
	"errors"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// countPasswords is the number of words of the length in which each class occurs, by inclusion and
// exclusion: the classes of each subset are left out, and the words without them added or subtracted.
func countPasswords(sizes []int, free, length int) *big.Int {
	total := new(big.Int)
	for subset := range 1 << len(sizes) {
		size, sign := free, int64(1)
		for i, n := range sizes {
			if subset&(1<<i) == 0 {
				size += n
			} else {
				sign = -sign
			}
		}
		words := new(big.Int).Exp(big.NewInt(int64(size)), big.NewInt(int64(length)), nil)
		total.Add(total, words.Mul(words, big.NewInt(sign)))
	}
	return total
}

func classesOf(texts ...string) [][]string {
	list := [][]string{}
	for _, text := range texts {
		list = append(list, strings.Split(text, ""))
	}
	return list
}

func TestPasswordSpaceCounts(t *testing.T) {
	cases := [][]string{
		{passwordLowercase, passwordUppercase, passwordDigits, passwordSymbols}, {passwordDigits}, {"a", "1"},
		{"a", "b", "c", passwordLowercase}, {passwordLowercase, "1", passwordSymbols},
	}
	for _, c := range cases {
		sizes := []int{}
		for _, class := range c {
			sizes = append(sizes, len(class))
		}
		for _, length := range []int{len(c), 8, 20, 256} {
			each := newPasswordSpace(classesOf(c...), length, true, "").total()
			if want := countPasswords(sizes, 0, length); each.Cmp(want) != 0 {
				t.Errorf("%v of length %d: %v; want %v", c, length, each, want)
			}
			any := newPasswordSpace(classesOf(c...), length, false, "")
			if want := countPasswords(nil, any.size(), length); any.total().Cmp(want) != 0 {
				t.Errorf("%v of length %d, none required: %v; want %v", c, length, any.total(), want)
			}
		}
	}
}

// TestPasswordSpaceNumbersEach writes all words of a small space: each has a number of its own, and only
// those that fulfill the requirement have one.
func TestPasswordSpaceNumbersEach(t *testing.T) {
	alphabet := strings.Split("ab1!?", "")
	want := []string{}
	var write func(word string)
	write = func(word string) {
		if len(word) < 5 {
			for _, c := range alphabet {
				write(word + c)
			}
		} else if strings.ContainsAny(word, "ab") && strings.Contains(word, "1") && strings.ContainsAny(word, "!?") {
			want = append(want, word)
		}
	}
	write("")
	space := newPasswordSpace(classesOf("ab", "1", "!?"), 5, true, "")
	got := []string{}
	for i := range space.total().Int64() {
		got = append(got, strings.Join(space.word(big.NewInt(i)), ""))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d words; want %d", len(got), len(want))
	}
}

func TestPasswordSpaceEntropy(t *testing.T) {
	cases := []struct {
		space *passwordSpace
		want  float64
	}{
		{newPasswordSpace(classesOf("01"), 8, true, ""), 8},
		{newPasswordSpace(classesOf("0123"), 256, false, ""), 512},
		{newPasswordSpace(classesOf("a", "1"), 8, true, ""), math.Log2(254)}, // all but aaaaaaaa and 11111111
		{newPasswordSpace([][]string{passphraseWords()}, 6, false, "-"), 66},
	}
	for _, c := range cases {
		if got := c.space.entropy(); math.Abs(got-c.want) > 0.0005 {
			t.Errorf("%v to the %d: %v bits; want %v", c.space.size(), c.space.length, got, c.want)
		}
	}
}

func TestStrengthOf(t *testing.T) {
	for bits, want := range map[float64]PasswordStrength{
		0: "weak", 49.999: "weak", 50: "fair", 64.999: "fair", 65: "strong", 99.999: "strong", 100: "very_strong",
	} {
		if got := strengthOf(bits); got != want {
			t.Errorf("%v bits: %s; want %s", bits, got, want)
		}
	}
}

func TestPassphraseWords(t *testing.T) {
	if len(passphraseWords()) != 2048 || !slices.IsSorted(passphraseWords()) {
		t.Errorf("%d words, sorted %v", len(passphraseWords()), slices.IsSorted(passphraseWords()))
	}
	for i, word := range passphraseWords() {
		if len(word) < 3 || len(word) > 8 || strings.Trim(word, passwordLowercase) != "" {
			t.Errorf("word %q", word)
		}
		if i > 0 && strings.HasPrefix(word, passphraseWords()[i-1]) { // in a sorted list, a prefix is just before
			t.Errorf("%q begins with %q", word, passphraseWords()[i-1])
		}
	}
}

func TestGeneratePasswordWithoutRandomness(t *testing.T) {
	broken := errors.New("broken")
	report, err := generatePassword(PasswordRequest{}, iotest.ErrReader(broken))
	if report != nil || !errors.Is(err, broken) {
		t.Errorf("got %v, %v", report, err)
	}
}

// A passwordTally counts how often each character occurs at each position, and how often each number of
// characters of the classes occurs.
type passwordTally struct {
	places   map[string]*[8]float64
	profiles map[[4]int]float64
	drawn    int
}

func (tally *passwordTally) add(space *passwordSpace, password string) {
	profile := [4]int{}
	for i, c := range strings.Split(password, "") {
		tally.place(c)[i]++
		for j, class := range space.classes {
			if slices.Contains(class, c) {
				profile[j]++
			}
		}
	}
	tally.profiles[profile]++
	tally.drawn++
}

func (tally *passwordTally) place(c string) *[8]float64 {
	if tally.places[c] == nil {
		tally.places[c] = new([8]float64)
	}
	return tally.places[c]
}

// A chiSquare compares counts with what they should be.
type chiSquare struct{ statistic, degrees float64 }

func (x *chiSquare) add(got, want float64) {
	x.statistic += (got - want) * (got - want) / want
	x.degrees++
}

// fair reports whether the statistic is less than eight standard deviations above its expectation, which
// chance exceeds less often than once in 10^9 times.
func (x *chiSquare) fair() bool { return x.statistic < x.degrees+8*math.Sqrt(2*x.degrees) }

// ofPlaces compares how often each character occurs at each position.
func (tally *passwordTally) ofPlaces(space *passwordSpace) (x chiSquare) {
	for i, class := range space.classes {
		others := []int{}
		for j := range space.classes {
			if j != i {
				others = append(others, len(space.classes[j]))
			}
		}
		// By symmetry, a character occurs at each position as often as at the first.
		want := share(countPasswords(others, len(class), space.length-1), space) * float64(tally.drawn)
		for _, c := range class {
			for _, got := range tally.place(c) {
				x.add(got, want)
			}
		}
	}
	x.degrees -= float64(space.length) // at each position one of the counts follows from the others
	return x
}

// ofProfiles compares how often passwords have so many characters of each class.
func (tally *passwordTally) ofProfiles(space *passwordSpace) (x chiSquare) {
	rareGot, rareWant := 0.0, 0.0
	for a := 1; a <= 5; a++ {
		for b := 1; a+b <= 6; b++ {
			for c := 1; a+b+c <= 7; c++ {
				profile := [4]int{a, b, c, 8 - a - b - c}
				words, left := big.NewInt(1), int64(8)
				for i, n := range profile {
					size := big.NewInt(int64(len(space.classes[i])))
					words.Mul(words, size.Exp(size, big.NewInt(int64(n)), nil))
					words.Mul(words, new(big.Int).Binomial(left, int64(n)))
					left -= int64(n)
				}
				got, want := tally.profiles[profile], share(words, space)*float64(tally.drawn)
				if want < 20 { // too few for the statistic: counted together
					rareGot, rareWant = rareGot+got, rareWant+want
					continue
				}
				x.add(got, want)
			}
		}
	}
	x.add(rareGot, rareWant)
	x.degrees--
	return x
}

func share(n *big.Int, space *passwordSpace) float64 {
	f, _ := new(big.Rat).SetFrac(n, space.total()).Float64()
	return f
}

// TestGeneratePasswordIsFair draws many short passwords, and compares what they are made of with what they
// should be made of. Samplers with well-known faults are seen to fail the same test.
func TestGeneratePasswordIsFair(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	const samples = 20_000
	req := PasswordRequest{Length: 8, Count: 100, Exclude: "3456789!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|"}
	space, err := req.space()
	if err != nil {
		t.Fatal(err)
	}
	seed := [32]byte{1}
	random := rand.New(rand.NewChaCha8(seed))
	cases := []struct {
		name string
		fair bool
		draw func(random io.Reader) []string
	}{
		{"GeneratePassword", true, func(random io.Reader) []string {
			report, err := generatePassword(req, random)
			if err != nil {
				t.Fatal(err)
			}
			return report.Passwords
		}},
		{"one of each class, then any, then shuffled", false, func(io.Reader) []string {
			symbols := []string{}
			for _, class := range space.classes {
				symbols = append(symbols, class[random.IntN(len(class))])
			}
			all := slices.Concat(space.classes...)
			for len(symbols) < space.length {
				symbols = append(symbols, all[random.IntN(len(all))])
			}
			random.Shuffle(len(symbols), func(i, j int) { symbols[i], symbols[j] = symbols[j], symbols[i] })
			return []string{strings.Join(symbols, "")}
		}},
		{"a byte modulo the alphabet, until each class is there", false, func(io.Reader) []string {
			all := slices.Concat(space.classes...)
			for {
				word := ""
				for range space.length {
					word += all[random.IntN(256)%len(all)]
				}
				if strings.ContainsAny(word, passwordLowercase) && strings.ContainsAny(word, passwordUppercase) &&
					strings.ContainsAny(word, passwordDigits) && strings.ContainsAny(word, passwordSymbols) {
					return []string{word}
				}
			}
		}},
		{"each class in its place", false, func(io.Reader) []string {
			word := ""
			for i := range space.length {
				class := space.classes[i%len(space.classes)]
				word += class[random.IntN(len(class))]
			}
			return []string{word}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tally, source := &passwordTally{map[string]*[8]float64{}, map[[4]int]float64{}, 0}, rand.NewChaCha8(seed)
			for tally.drawn < samples {
				for _, password := range c.draw(source) {
					tally.add(space, password)
				}
			}
			places, profiles := tally.ofPlaces(space), tally.ofProfiles(space)
			t.Logf("chi-square of places %.0f of %v, of classes %.0f of %v",
				places.statistic, places.degrees, profiles.statistic, profiles.degrees)
			if fair := places.fair() && profiles.fair(); fair != c.fair {
				t.Errorf("fair: %v; want %v", fair, c.fair)
			}
		})
	}
}
