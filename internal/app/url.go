package app

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errReserved replaces an error that may quote a part of a password.
var errReserved = errors.New("a name or password in it has characters that mean something in a URL: " +
	"write each of them as % and two digits, such as %2F for /, %3F for ?, %23 for #, %40 for @, %25 for %, %2C for a comma")

// checkURL refuses a URL that cannot be parsed, and one whose password was not parsed as such: another @ follows the
// server's name. The error quotes nothing.
func checkURL(text string) error {
	parsed, err := url.Parse(text)
	switch {
	case err != nil && strings.Contains(text, "@"):
		return errReserved
	case err != nil:
		return errors.New("it is not a valid URL") // err would quote it
	case parsed.User == nil && strings.Contains(text, "@"):
		return errReserved
	}
	return nil
}

// socketFolder finds a host of a PostgreSQL URL that is the folder of a socket, with the slashes written as %2F.
var socketFolder = regexp.MustCompile(`(?i)^([a-z]+://(?:[^/?#@]*@)?)(%2F[^/?#:@]*)(?::([0-9]*))?([/?#].*)?$`)

// withSocket returns a URL whose host is the folder of a socket in the form that Go can read: the folder is a parameter.
func withSocket(text string) string {
	parts := socketFolder.FindStringSubmatch(text)
	if parts == nil {
		return text
	}
	beginning, folder, port, rest := parts[1], parts[2], parts[3], parts[4]
	path, parameters, _ := strings.Cut(rest, "?")
	added := "host=" + folder
	if port != "" {
		added += "&port=" + port
	}
	return beginning + path + "?" + strings.Trim(added+"&"+parameters, "&")
}

// checkPostgresURL refuses a URL that can never reach a server. It accepts a URL that names a missing file, because the
// file may appear before the connection needs it.
func checkPostgresURL(text string) error {
	if err := checkURL(text); err != nil {
		return err
	}
	config, err := pgxpool.ParseConfig(text)
	if _, file := errors.AsType[*fs.PathError](err); file {
		return nil
	}
	if err == nil && config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		return errors.New("default_query_exec_mode=simple_protocol tells the server no types of parameters: take exec")
	}
	return err // pgx keeps the password out of it
}

// postgresHosts names the servers and the database of a URL, without secrets; "" if it cannot be read.
func postgresHosts(databaseURL string) string {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return ""
	}
	c := config.ConnConfig
	hosts := []string{address(c.Host, c.Port)}
	for _, other := range c.Fallbacks {
		if host := address(other.Host, other.Port); host != hosts[len(hosts)-1] { // once with TLS, once without
			hosts = append(hosts, host)
		}
	}
	return strings.Join(hosts, ",") + "/" + c.Database
}

// redisHosts names the servers of a configuration, without secrets.
func redisHosts(all []redisAddress) string {
	var hosts []string
	for _, address := range all {
		hosts = append(hosts, address.String())
	}
	return strings.Join(hosts, ",")
}

// address is HOST:PORT, or the folder of a socket.
func address(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
