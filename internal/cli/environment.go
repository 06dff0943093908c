package cli

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"
)

// CheckSettings refuses settings that must be mistakes: variables of the environment that begin with the prefix and
// belong to no flag of the program, and empty settings. If the variable for its keys is misspelt, or the one for the
// database is empty, a program must not start as if it had none.
//
// The first variable of a flag is its name. The others are its former names, and s.Err gets a line when one is used. If
// a flag's tag has mayBeEmpty, an empty value is valid.
func CheckSettings(parsed *kong.Context, prefix string, s Streams) error {
	flags := byVariable(parsed.Model.Node)
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(strings.ToUpper(name), prefix+"_") || setByKubernetes.MatchString(name) {
			continue
		}
		flag := flags[name]
		if flag == nil {
			return fmt.Errorf("%s is in the environment, and there is no such setting: did you mean %s?", name, nearest(name, flags))
		}
		if err := checkVariable(flag, name, value, s); err != nil {
			return err
		}
	}
	for _, path := range parsed.Path {
		if path.Flag != nil && isEmpty(parsed.FlagValue(path.Flag)) && !mayBeEmpty(path.Flag) {
			return fmt.Errorf("--%s is empty: give it a value, or leave it out", path.Flag.Name)
		}
	}
	return nil
}

// setByKubernetes are the variables that a container gets for each service of its namespace. A service's name may be
// this program's, or begin with it.
var setByKubernetes = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// byVariable maps each variable to the flag that it sets, of all commands.
func byVariable(node *kong.Node) map[string]*kong.Flag {
	flags := make(map[string]*kong.Flag)
	for _, flag := range node.Flags {
		for _, name := range flag.Envs {
			flags[name] = flag
		}
	}
	for _, child := range node.Children {
		for name, flag := range byVariable(child) {
			flags[name] = flag
		}
	}
	return flags
}

func checkVariable(flag *kong.Flag, name, value string, s Streams) error {
	if strings.TrimSpace(value) == "" && !mayBeEmpty(flag) {
		return fmt.Errorf("%s is empty: give it a value, or take it out of the environment", name)
	}
	now := flag.Envs[0]
	if name == now {
		return nil
	}
	if _, both := os.LookupEnv(now); both {
		return fmt.Errorf("%s and %s are both in the environment: the second is the old name of the first", now, name)
	}
	_, err := fmt.Fprintf(s.Err, "%s is called %s now: the next release does not know the old name\n", name, now)
	return err
}

// nearest returns the variable of a flag that is most like a name, in letters and then in length.
func nearest(name string, flags map[string]*kong.Flag) string {
	name = strings.ToUpper(name)
	likeness := func(known string) []int {
		return []int{levenshtein.ComputeDistance(name, known), max(len(name)-len(known), len(known)-len(name))}
	}
	var names []string
	for _, flag := range flags {
		names = append(names, flag.Envs[0])
	}
	slices.Sort(names) // of several that are equally near, the first one
	return slices.MinFunc(names, func(a, b string) int { return slices.Compare(likeness(a), likeness(b)) })
}

// isEmpty reports whether a text, or one of several, is only white space.
func isEmpty(value any) bool {
	blank := func(text string) bool { return strings.TrimSpace(text) == "" }
	switch value := value.(type) {
	case string:
		return blank(value)
	case []string:
		return len(value) == 0 || slices.ContainsFunc(value, blank)
	default:
		return false
	}
}

func mayBeEmpty(flag *kong.Flag) bool { return flag.Tag.Has("mayBeEmpty") }
