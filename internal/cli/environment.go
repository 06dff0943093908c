package cli

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// CheckSettings refuses settings that must be mistakes: variables of the environment that begin with the prefix and
// belong to no flag of the program, and empty settings. If the variable for its keys is misspelt, or the one for the
// database is empty, a program must not start as if it had none.
//
// If a flag's tag has mayBeEmpty, an empty value is valid.
func CheckSettings(parsed *kong.Context, prefix string) error {
	flags := byVariable(parsed.Model.Node)
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(strings.ToUpper(name), prefix+"_") || setByKubernetes.MatchString(name) {
			continue
		}
		switch flag := flags[name]; {
		case flag == nil:
			return fmt.Errorf("%s is in the environment, and there is no such setting: --help lists them", name)
		case isEmpty(value) && !mayBeEmpty(flag):
			return fmt.Errorf("%s is empty: give it a value, or take it out of the environment", name)
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
