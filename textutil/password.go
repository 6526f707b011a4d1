package textutil

import (
	"cmp"
	"crypto/rand"
	_ "embed" // the words of passphrases
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds and defaults of CONTRACT 3.2, and those of the passphrases beside it.
const (
	minPasswordLength      = 8
	maxPasswordLength      = 256
	defaultPasswordLength  = 20
	maxPasswordCount       = 100
	maxPasswordExclude     = 128 // characters
	minPassphraseWords     = 4
	maxPassphraseWords     = 24
	defaultPassphraseWords = 6
	maxPassphraseSeparator = 4 // characters
)

// The characters of a password by class. Symbols are all of ASCII but the space.
const (
	passwordLowercase = "abcdefghijklmnopqrstuvwxyz"
	passwordUppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	passwordDigits    = "0123456789"
	passwordSymbols   = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	// passwordAmbiguous are characters that look like another one in some typeface.
	passwordAmbiguous = "0Oo1Il|"
)

// A PasswordMode is the kind of passwords: characters or passphrase.
type PasswordMode string

// The modes. The default is "characters".
const (
	PasswordCharacters PasswordMode = "characters" // letters, digits and symbols
	PasswordPassphrase PasswordMode = "passphrase" // words of a list of 2048
)

// Values lists the modes.
func (PasswordMode) Values() []string { return valuesOf(PasswordCharacters, PasswordPassphrase) }

// A PasswordStrength rates the entropy: weak, fair, strong or very_strong. It assumes an attacker who knows
// how the password was generated and makes 10^12 guesses per second.
type PasswordStrength string

// The bands. Each holds what is not in the band above it.
const (
	PasswordWeak       PasswordStrength = "weak"        // below 50 bits: guessed within 20 minutes
	PasswordFair       PasswordStrength = "fair"        // from 50 bits on: within fourteen months
	PasswordStrong     PasswordStrength = "strong"      // from 65 bits on: that takes longer than a year
	PasswordVeryStrong PasswordStrength = "very_strong" // from 100 bits on: longer than the universe is old
)

// Values lists the bands.
func (PasswordStrength) Values() []string {
	return valuesOf(PasswordWeak, PasswordFair, PasswordStrong, PasswordVeryStrong)
}

// A PasswordRequest asks for passwords. The zero value asks for one password of 20 characters from all
// classes.
type PasswordRequest struct {
	Mode PasswordMode `json:"mode,omitempty" default:"characters" doc:"what passwords are made of"` // empty: characters
	// Length is from 8 to 256 characters. 0 means 20. Length and the fields from Lowercase to RequireEach
	// must not be set for passphrases.
	Length    int   `json:"length,omitempty" default:"20" min:"8" max:"256" doc:"characters in a password"`
	Count     int   `json:"count,omitempty" default:"1" min:"1" max:"100" doc:"number of passwords"`
	Lowercase *bool `json:"lowercase,omitempty" default:"true" doc:"take small letters"`
	Uppercase *bool `json:"uppercase,omitempty" default:"true" doc:"take capitals"`
	Digits    *bool `json:"digits,omitempty" default:"true" doc:"take digits"`
	Symbols   *bool `json:"symbols,omitempty" default:"true" doc:"take the punctuation of ASCII"`

	ExcludeAmbiguous bool   `json:"exclude_ambiguous,omitempty" default:"false" doc:"exclude 0 O o 1 I l |"`
	Exclude          string `json:"exclude,omitempty" default:"" maxlen:"128" doc:"characters to exclude"`
	RequireEach      *bool  `json:"require_each,omitempty" default:"true" doc:"have a character of each class in every password"`
	// Words is the number of words of a passphrase, from 4 to 24. 0 means 6. Words and WordSeparator must
	// only be set for passphrases.
	Words         int    `json:"words,omitempty" default:"6" min:"4" max:"24" doc:"words in a passphrase"`
	WordSeparator string `json:"word_separator,omitempty" default:"-" maxlen:"4" doc:"separator between words"`
}

// A PasswordReport has the passwords and their entropy.
type PasswordReport struct {
	Passwords    []string         `json:"passwords" doc:"the passwords, each drawn on its own"`
	Length       int              `json:"length" min:"0" doc:"characters in each password; words in each passphrase"`
	Count        int              `json:"count" min:"1" doc:"number of passwords"`
	AlphabetSize int              `json:"alphabet_size" min:"2" doc:"characters to choose from; for passphrases, words"`
	EntropyBits  float64          `json:"entropy_bits" min:"0" doc:"log2 of how many passwords could have been drawn"`
	Strength     PasswordStrength `json:"strength" doc:"band of the entropy: weak below 50 bits, fair 65, strong 100"`
}

// GeneratePassword generates passwords from the random source of the operating system. Every password that
// meets the request is equally likely, and the entropy is computed from their exact number. The error is an
// *[InputError].
func GeneratePassword(req PasswordRequest) (*PasswordReport, error) {
	return generatePassword(req, rand.Reader)
}

func generatePassword(req PasswordRequest, random io.Reader) (*PasswordReport, error) {
	count := cmp.Or(req.Count, 1)
	if count < 1 || count > maxPasswordCount {
		return nil, invalid("count", "is %d; it may be from 1 to %d", count, maxPasswordCount)
	}
	space, err := req.space()
	if err != nil {
		return nil, err
	}
	report := &PasswordReport{
		Passwords: make([]string, count), Count: count, Length: space.length, AlphabetSize: space.size(),
		EntropyBits: space.entropy(),
	}
	report.Strength = strengthOf(report.EntropyBits)
	for i := range report.Passwords {
		// rand.Int draws again rather than folding what is too large, so that it has no bias.
		number, err := rand.Int(random, space.total())
		if err != nil {
			return nil, fmt.Errorf("reading the random source: %w", err)
		}
		report.Passwords[i] = strings.Join(space.word(number), space.separator)
	}
	return report, nil
}

// strengthOf returns the band of an entropy.
func strengthOf(bits float64) PasswordStrength {
	switch {
	case bits < 50:
		return PasswordWeak
	case bits < 65:
		return PasswordFair
	case bits < 100:
		return PasswordStrong
	}
	return PasswordVeryStrong
}

func (req *PasswordRequest) space() (*passwordSpace, error) {
	mode := cmp.Or(req.Mode, PasswordCharacters)
	if mode != PasswordCharacters && mode != PasswordPassphrase {
		return nil, invalid("mode", "%.40q is neither characters nor passphrase", string(mode))
	}
	if err := req.checkMode(mode); err != nil {
		return nil, err
	}
	if mode == PasswordPassphrase {
		return req.passphrases()
	}
	return req.characters()
}

// checkMode refuses fields that belong to the other mode: they would change nothing.
func (req *PasswordRequest) checkMode(mode PasswordMode) error {
	for _, f := range []struct {
		name  string
		of    PasswordMode
		given bool
	}{
		{"length", PasswordCharacters, req.Length != 0},
		{"lowercase", PasswordCharacters, req.Lowercase != nil},
		{"uppercase", PasswordCharacters, req.Uppercase != nil},
		{"digits", PasswordCharacters, req.Digits != nil},
		{"symbols", PasswordCharacters, req.Symbols != nil},
		{"exclude_ambiguous", PasswordCharacters, req.ExcludeAmbiguous},
		{"exclude", PasswordCharacters, req.Exclude != ""},
		{"require_each", PasswordCharacters, req.RequireEach != nil},
		{"words", PasswordPassphrase, req.Words != 0},
		{"word_separator", PasswordPassphrase, req.WordSeparator != ""},
	} {
		if f.given && f.of != mode {
			return invalid(f.name, "belongs to the mode %s; the mode is %s", f.of, mode)
		}
	}
	return nil
}

func (req *PasswordRequest) passphrases() (*passwordSpace, error) {
	words := cmp.Or(req.Words, defaultPassphraseWords)
	if words < minPassphraseWords || words > maxPassphraseWords {
		return nil, invalid("words", "is %d; it may be from %d to %d", words, minPassphraseWords, maxPassphraseWords)
	}
	separator := cmp.Or(req.WordSeparator, "-")
	if utf8.RuneCountInString(separator) > maxPassphraseSeparator {
		return nil, invalid("word_separator", "has more than %d characters", maxPassphraseSeparator)
	}
	if err := checkText("word_separator", separator); err != nil {
		return nil, err
	}
	return newPasswordSpace([][]string{passphraseWords()}, words, false, separator), nil
}

func (req *PasswordRequest) characters() (*passwordSpace, error) {
	length := cmp.Or(req.Length, defaultPasswordLength)
	if length < minPasswordLength || length > maxPasswordLength {
		return nil, invalid("length", "is %d; it may be from %d to %d", length, minPasswordLength, maxPasswordLength)
	}
	if n := utf8.RuneCountInString(req.Exclude); n > maxPasswordExclude {
		return nil, invalid("exclude", "has %d characters; the most is %d", n, maxPasswordExclude)
	}
	if err := checkText("exclude", req.Exclude); err != nil {
		return nil, err
	}
	excluded := req.Exclude
	if req.ExcludeAmbiguous {
		excluded += passwordAmbiguous
	}
	each := isTrue(req.RequireEach)
	classes, size := [][]string{}, 0
	for _, class := range []struct {
		wanted           *bool
		name, characters string
	}{
		{req.Lowercase, "small letters", passwordLowercase}, {req.Uppercase, "capitals", passwordUppercase},
		{req.Digits, "digits", passwordDigits}, {req.Symbols, "symbols", passwordSymbols},
	} {
		if !isTrue(class.wanted) {
			continue
		}
		left := splitWithout(class.characters, excluded)
		if len(left) == 0 && each {
			return nil, invalid("exclude", "leaves no %s, but every password must have one", class.name)
		}
		classes, size = append(classes, left), size+len(left)
	}
	switch {
	case len(classes) == 0:
		return nil, invalid("lowercase", "is false, and so are uppercase, digits and symbols; one must be true")
	case size < 2:
		return nil, invalid("exclude", "leaves %d characters; passwords need at least 2 to choose from", size)
	}
	return newPasswordSpace(classes, length, each, ""), nil
}

// isTrue returns what a request says whose default is true.
func isTrue(b *bool) bool { return b == nil || *b }

// splitWithout returns the characters that are not among the excluded ones, one by one.
func splitWithout(characters, excluded string) []string {
	left := []string{}
	for c := range strings.SplitSeq(characters, "") {
		if !strings.Contains(excluded, c) {
			left = append(left, c)
		}
	}
	return left
}

// passphraseWords are 2048 English words of three to eight letters that are easy to say and to spell, so that each adds
// exactly 11 bits. No word begins another one, and few sound like another one. Their order is that of the alphabet.
var passphraseWords = sync.OnceValue(func() []string { return strings.Fields(passphraseText) })

//go:embed password_words.txt
var passphraseText string

// A passwordSpace is a set of passwords, numbered from 0. A password is a sequence of symbols of some
// classes, of which each must occur if so required.
//
// To draw one, a number is drawn and the password of that number looked up: so each is as likely as any
// other, no matter what is required, and nothing is ever thrown away. Drawing one character of each
// class first and shuffling would favor passwords that have several of a small class.
type passwordSpace struct {
	classes   [][]string
	length    int
	each      bool
	separator string
	// ways[n][m] is the number of ways to write n more symbols if the classes in the bit set m have yet
	// to occur. If no class must occur, m is 0 throughout.
	ways [][]*big.Int
}

func newPasswordSpace(classes [][]string, length int, each bool, separator string) *passwordSpace {
	s := &passwordSpace{classes: classes, length: length, each: each, separator: separator}
	sets := 1
	if each {
		sets = 1 << len(classes)
	}
	s.ways = make([][]*big.Int, length+1)
	for n := range s.ways {
		s.ways[n] = make([]*big.Int, sets)
		for missing := range sets {
			w := new(big.Int)
			switch {
			case n == 0 && missing == 0:
				w.SetInt64(1)
			case n > 0:
				for class := range classes {
					w.Add(w, s.countWays(n, missing, class, new(big.Int)))
				}
			}
			s.ways[n][missing] = w
		}
	}
	return s
}

// countWays sets w to the number of ways to write n more symbols, the first of which is of the class.
func (s *passwordSpace) countWays(n, missing, class int, w *big.Int) *big.Int {
	return w.Mul(big.NewInt(int64(len(s.classes[class]))), s.ways[n-1][missing&^(1<<class)])
}

func (s *passwordSpace) total() *big.Int { return s.ways[s.length][len(s.ways[s.length])-1] }

// size returns the number of symbols to choose from.
func (s *passwordSpace) size() int {
	n := 0
	for _, class := range s.classes {
		n += len(class)
	}
	return n
}

// entropy returns the logarithm to base 2 of the number of passwords, to three decimals.
func (s *passwordSpace) entropy() float64 {
	mantissa := new(big.Float)
	exponent := new(big.Float).SetInt(s.total()).MantExp(mantissa)
	f, _ := mantissa.Float64()
	return math.Round(1000*(float64(exponent)+math.Log2(f))) / 1000
}

func (s *passwordSpace) word(number *big.Int) []string {
	rest, quotient, ways := new(big.Int).Set(number), new(big.Int), new(big.Int)
	missing := len(s.ways[0]) - 1
	symbols := make([]string, 0, s.length)
	for n := s.length; n > 0; n-- {
		class := 0
		for s.countWays(n, missing, class, ways).Cmp(rest) <= 0 {
			rest.Sub(rest, ways)
			class++
		}
		missing &^= 1 << class
		quotient.QuoRem(rest, s.ways[n-1][missing], rest)
		symbols = append(symbols, s.classes[class][quotient.Int64()])
	}
	return symbols
}
