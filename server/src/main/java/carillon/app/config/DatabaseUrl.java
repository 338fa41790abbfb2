package carillon.app.config;

import carillon.store.db.Db;
import carillon.store.db.Pooler;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A PostgreSQL URL, with the credentials separated out.
 *
 * @param jdbcUrl for the driver; carries neither user nor password
 * @param user null means the operating system's user
 * @param password null means none
 */
public record DatabaseUrl(String jdbcUrl, @Nullable String user, @Nullable String password) {

  /** What {@link #parse} accepts, for error messages. */
  static final String RULE =
      "postgresql://user:password@host:port/db or jdbc:postgresql://host:port/db";

  // Several hosts are legal, host:port,host:port, which is why java.net.URI cannot read it.
  private static final Pattern FORM =
      Pattern.compile(
          "(?:jdbc:)?postgres(?:ql)?://(?:([^/?#@]*)@)?([^/?#@\\s]+)(?:/([^/?#\\s]*))?(?:\\?([^#\\s]*))?");

  private static final Pattern HOST =
      Pattern.compile("(?:\\[[0-9A-Fa-f:.%]+]|[A-Za-z0-9_.%-]+)(?::([0-9]{1,5}))?");

  /** Parameters of libpq that have another name in the JDBC driver. */
  private static final Map<String, String> DRIVER_NAMES =
      Map.of("application_name", "ApplicationName", "connect_timeout", "connectTimeout");

  /** Reads both forms; empty if it is neither. */
  public static Optional<DatabaseUrl> parse(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches() || !areHosts(matcher.group(2))) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          build(matcher.group(1), matcher.group(2), matcher.group(3), matcher.group(4)));
    } catch (IllegalArgumentException _) { // a percent sign that encodes nothing
      return Optional.empty();
    }
  }

  private static DatabaseUrl build(
      @Nullable String credentials,
      String hosts,
      @Nullable String database,
      @Nullable String query) {
    String user = null;
    String password = null;
    if (credentials != null && !credentials.isEmpty()) {
      int colon = credentials.indexOf(':');
      user = decode(colon < 0 ? credentials : credentials.substring(0, colon));
      password = colon < 0 ? null : decode(credentials.substring(colon + 1));
    }
    List<String> kept = new ArrayList<>();
    for (String parameter :
        query == null || query.isEmpty() ? new String[0] : query.split("&", -1)) {
      int equals = parameter.indexOf('=');
      String name = equals < 0 ? parameter : parameter.substring(0, equals);
      String value = equals < 0 ? "" : parameter.substring(equals + 1);
      switch (name) {
        case "user" -> user = decode(value);
        case "password" -> password = decode(value);
        case "target_session_attrs" ->
            kept.add("targetServerType=" + (value.equals("read-write") ? "primary" : value));
        default -> kept.add(DRIVER_NAMES.getOrDefault(name, name) + "=" + value);
      }
    }
    String path = database == null ? "" : database;
    String parameters = kept.isEmpty() ? "" : "?" + String.join("&", kept);
    return new DatabaseUrl("jdbc:postgresql://" + hosts + "/" + path + parameters, user, password);
  }

  private static boolean areHosts(String hosts) {
    for (String host : hosts.split(",", -1)) {
      Matcher matcher = HOST.matcher(host);
      if (!matcher.matches()) {
        return false;
      }
      String port = matcher.group(1);
      if (port != null && (Integer.parseInt(port) < 1 || Integer.parseInt(port) > 65535)) {
        return false;
      }
    }
    return true;
  }

  private static String decode(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  /** The address for the store. */
  public Db.Address address(Pooler pooler) {
    return new Db.Address(
        jdbcUrl, user == null ? System.getProperty("user.name") : user, password, pooler);
  }

  @Override
  public String toString() {
    return jdbcUrl + (user == null ? "" : " as " + user);
  }
}
