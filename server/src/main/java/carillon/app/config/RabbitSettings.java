package carillon.app.config;

import carillon.delivery.rabbitmq.RabbitCluster;
import java.io.IOException;
import java.io.InputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** Reads the settings of one RabbitMQ cluster. Its error messages show no values. */
final class RabbitSettings {

  static final String URI = "uri";

  private static final String TRUST = "tls.truststore";
  private static final String KEYS = "tls.keystore";
  private static final String PASSWORD = ".password";

  private static final Set<String> KNOWN =
      Set.of(URI, TRUST, TRUST + PASSWORD, KEYS, KEYS + PASSWORD);

  // Several hosts are legal, which is why java.net.URI cannot read it.
  private static final Pattern FORM =
      Pattern.compile("amqp(s?)://(?:([^/?#@:]*):([^/?#@]*)@)?([^/?#@\\s]+)(?:/([^/?#\\s]*))?");

  private static final Pattern HOST =
      Pattern.compile("(?:\\[([0-9A-Fa-f:.%]+)]|([A-Za-z0-9_.-]+))(?::([0-9]{1,5}))?");

  private static final int PLAIN_PORT = 5672;
  private static final int TLS_PORT = 5671;

  private final Path directory;

  /**
   * @param directory which relative paths start from
   */
  RabbitSettings(Path directory) {
    this.directory = directory;
  }

  /**
   * @throws IllegalArgumentException with the reason
   */
  RabbitCluster read(String name, Map<String, String> settings) {
    for (String key : new TreeSet<>(settings.keySet())) {
      if (!KNOWN.contains(key)) {
        throw new IllegalArgumentException(
            "unknown key \"" + key + "\"; there are " + String.join(", ", new TreeSet<>(KNOWN)));
      }
    }
    Matcher form = FORM.matcher(settings.getOrDefault(URI, ""));
    if (!form.matches()) {
      throw new IllegalArgumentException("is not amqp[s]://user:password@host:port/vhost");
    }
    boolean isEncrypted = !form.group(1).isEmpty();
    if (!isEncrypted && settings.size() > 1) {
      throw new IllegalArgumentException("tls.* is for amqps:// only");
    }
    return new RabbitCluster(
        name,
        hosts(form.group(4), isEncrypted ? TLS_PORT : PLAIN_PORT),
        decoded(form.group(2), "guest"),
        decoded(form.group(3), "guest"),
        decoded(form.group(5), "/"),
        isEncrypted ? tls(settings) : null);
  }

  private static List<RabbitCluster.Host> hosts(String text, int usualPort) {
    List<RabbitCluster.Host> hosts = new ArrayList<>();
    for (String each : text.split(",", -1)) {
      Matcher host = HOST.matcher(each);
      if (!host.matches()) {
        throw new IllegalArgumentException("is not amqp[s]://user:password@host:port/vhost");
      }
      int port = host.group(3) == null ? usualPort : Integer.parseInt(host.group(3));
      if (port < 1 || port > 65_535) {
        throw new IllegalArgumentException("a port is a number from 1 to 65535");
      }
      hosts.add(
          new RabbitCluster.Host(host.group(1) == null ? host.group(2) : host.group(1), port));
    }
    return hosts;
  }

  /** An empty virtual host is the usual one: {@code amqp://host/}. */
  private static String decoded(@Nullable String text, String usual) {
    if (text == null || text.isEmpty()) {
      return usual;
    }
    try {
      return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException _) {
      throw new IllegalArgumentException("has a percent sign that encodes nothing");
    }
  }

  /** Uses Java's trusted certificates unless a trust store is named. */
  private SSLContext tls(Map<String, String> settings) {
    try {
      SSLContext tls = SSLContext.getInstance("TLS");
      tls.init(keys(settings), trusted(settings), null);
      return tls;
    } catch (GeneralSecurityException e) {
      throw new IllegalArgumentException("TLS cannot be set up: " + e.getMessage());
    }
  }

  private KeyManager @Nullable [] keys(Map<String, String> settings)
      throws GeneralSecurityException {
    if (!settings.containsKey(KEYS)) {
      return null;
    }
    var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store(KEYS, settings), password(KEYS, settings));
    return keys.getKeyManagers();
  }

  private TrustManager @Nullable [] trusted(Map<String, String> settings)
      throws GeneralSecurityException {
    if (!settings.containsKey(TRUST)) {
      return null;
    }
    var trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trusted.init(store(TRUST, settings));
    return trusted.getTrustManagers();
  }

  private KeyStore store(String key, Map<String, String> settings) throws GeneralSecurityException {
    Path file = directory.resolve(settings.getOrDefault(key, ""));
    try (InputStream in = Files.newInputStream(file)) {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(in, password(key, settings));
      return store;
    } catch (IOException e) {
      throw new IllegalArgumentException(key + ": the file cannot be read: " + e.getMessage());
    }
  }

  private static char[] password(String key, Map<String, String> settings) {
    return settings.getOrDefault(key + PASSWORD, "").toCharArray();
  }
}
