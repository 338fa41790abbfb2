package carillon.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.cli.CommandFailed;
import carillon.store.catalog.TenantLimits;
import carillon.store.db.Pooler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConfigLoaderTest {

  private static final String ADMIN_KEY = "s3cret-0123456789-0123456789-012";

  @TempDir Path directory;

  private final Map<String, String> environment = new HashMap<>();

  private Config load(String... flags) {
    Map<String, String> given = new HashMap<>();
    for (int i = 0; i < flags.length; i += 2) {
      given.put(flags[i], flags[i + 1]);
    }
    return new ConfigLoader(environment, directory).load(given);
  }

  private void file(String text) throws IOException {
    Files.writeString(directory.resolve("carillon.yaml"), text);
  }

  @Test
  void only_the_documented_keys_exist_with_their_defaults() {
    assertThat(
            Arrays.stream(Setting.values())
                .map(setting -> setting.key + " = " + setting.defaultText))
        .containsExactly(
            "port = 8080",
            "bind = 127.0.0.1",
            "max-connections-per-address = 1024",
            "metrics-port = null",
            "metrics-key = null",
            "database-url = null",
            "pooler = none",
            "data-dir = ./data",
            "roles = api,engine",
            "node-id = null",
            "node-lease = 10s",
            "admin-key = null",
            "allow-targets = null",
            "kafka = null",
            "rabbitmq = null",
            "concurrency = 512",
            "drain-timeout = 10s",
            "retention = 30d",
            "dead-letter-ttl = 30d",
            "archive-dir = null",
            "poison-crashes = 3",
            "alert-url = null",
            "alert-deaths = 10",
            "alert-within = 5m",
            "pool-size = 14",
            "max-types = 1000",
            "max-lanes = 10000",
            "max-schedules = 10000",
            "max-keys = 1000",
            "log-format = text",
            "log-level = info");
  }

  @Test
  void the_defaults_apply_without_any_configuration() {
    environment.put("HOSTNAME", "box");

    Config config = load();

    assertThat(config.node().id()).matches("box-[0-9a-f]{6}");
    assertThat(config)
        .isEqualTo(
            new Config(
                new Config.Node(
                    config.node().id(),
                    Set.of(Config.Role.API, Config.Role.ENGINE),
                    Duration.ofSeconds(10),
                    directory.resolve("data")),
                new Config.Http("127.0.0.1", 8080, 1024),
                new Config.Database(null, 14, Pooler.NONE),
                new Config.Engine(512, Duration.ofSeconds(10), Duration.ofDays(30), 3),
                new Config.Access(null, List.of("127.0.0.0/8", "::1/128")),
                new Config.Log(Config.LogFormat.TEXT, "info"),
                new Config.Alert(null, 10, Duration.ofMinutes(5)),
                new Config.Archive(Duration.ofDays(30), directory.resolve("data/archive")),
                new Config.Brokers(List.of(), List.of()),
                new TenantLimits.Installation(1_000, 10_000, 10_000, 1_000),
                new Config.Metrics(null, null),
                null));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "127.0.0.1 | ''                 | true",
        "127.0.0.9 | ''                 | true",
        "localhost | ''                 | true",
        "::1       | ''                 | true",
        "0.0.0.0   | ''                 | false",
        "::        | ''                 | false",
        "10.0.0.5  | ''                 | false",
        "127.0.0.1 | postgresql://u@h/d | false",
        "0.0.0.0   | postgresql://u@h/d | false"
      })
  void loopback_targets_are_allowed_while_database_and_clients_are_local(
      String bind, String url, boolean allowed) {
    Config config = url.isEmpty() ? load("bind", bind) : load("bind", bind, "database-url", url);

    assertThat(config.access().allowTargets())
        .isEqualTo(allowed ? List.of("127.0.0.0/8", "::1/128") : List.of());
    assertThat(load("bind", bind, "allow-targets", "127.0.0.1").access().allowTargets())
        .containsExactly("127.0.0.1");
  }

  @Test
  void the_configuration_names_the_file_it_was_read_from() throws IOException {
    assertThat(load().file()).isNull();

    file("port: 1\n");

    assertThat(load().file()).isEqualTo(directory.resolve("carillon.yaml").toAbsolutePath());
  }

  @Test
  void metrics_can_have_their_own_key_and_port() throws IOException {
    String key = "k".repeat(32);
    Files.writeString(directory.resolve("key"), key + "\n");

    Config config = load("metrics-port", "0", "metrics-key-file", "key");

    assertThat(config.metrics()).isEqualTo(new Config.Metrics(0, key));
    assertThat(config.toString()).doesNotContain(key);
    assertThatThrownBy(() -> load("metrics-key", "k".repeat(31)))
        .hasMessage("--metrics-key: the value is not " + AdminKey.RULE);
    assertThatThrownBy(() -> load("port", "9090", "metrics-port", "9090"))
        .hasMessage("--metrics-port: 9090 is the port of the API; choose another");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "*.corp     | wildcards are not supported",
        "10.0.0.1/8 | the address has bits set beyond its prefix",
        "010.0.0.1  | four decimal numbers"
      })
  void an_invalid_target_rule_is_rejected(String target, String reason) {
    assertThatThrownBy(() -> load("allow-targets", target))
        .isInstanceOf(CommandFailed.class)
        .hasMessageStartingWith("--allow-targets: ")
        .hasMessageContaining(reason);
  }

  @Test
  void flags_override_variables_which_override_the_file() throws IOException {
    file("port: 1\nconcurrency: 1\npool-size: 3\n");
    environment.put("CARILLON_PORT", "2");
    environment.put("CARILLON_CONCURRENCY", "2");

    Config config = load("port", "3");

    assertThat(config.http().port()).isEqualTo(3);
    assertThat(config.engine().concurrency()).isEqualTo(2);
    assertThat(config.database().poolSize()).isEqualTo(3);
  }

  @Test
  void an_explicit_configuration_file_must_exist() throws IOException {
    Files.writeString(
        directory.resolve("other.yaml"),
        "# nothing but\nroles: [engine]\nallow-targets: [10.0.0.0/8, hooks.internal]\n");

    Config config = load("config", "other.yaml");

    assertThat(config.node().roles()).containsExactly(Config.Role.ENGINE);
    assertThat(config.access().allowTargets()).containsExactly("10.0.0.0/8", "hooks.internal");
    assertThatThrownBy(() -> load("config", "none.yaml"))
        .hasMessageContaining("none.yaml cannot be read: no such file");
  }

  @Test
  void a_pooler_needs_an_external_database() {
    String url = "postgresql://u@h/d";

    assertThat(load("database-url", url, "pooler", "transaction").database().pooler())
        .isEqualTo(Pooler.TRANSACTION);
    assertThatThrownBy(() -> load("database-url", url, "pooler", "session"))
        .hasMessageContaining("--pooler")
        .hasMessageContaining("none or transaction");
    assertThatThrownBy(() -> load("pooler", "transaction")).hasMessageContaining("embedded");
  }

  @Test
  void empty_files_and_empty_variables_are_ignored() throws IOException {
    file("");
    environment.put("CARILLON_PORT", "");

    assertThat(load().http().port()).isEqualTo(8080);
  }

  @Test
  void secrets_can_be_read_from_files() throws IOException {
    Files.writeString(directory.resolve("key"), ADMIN_KEY + "\n");
    Files.writeString(directory.resolve("url"), "postgresql://me:pw@db/tasks\n");
    environment.put("CARILLON_ADMIN_KEY_FILE", "key");

    Config config = load("database-url-file", "url");

    assertThat(config.access().adminKey()).isEqualTo(ADMIN_KEY);
    assertThat(config.database().url())
        .isEqualTo(new DatabaseUrl("jdbc:postgresql://db/tasks", "me", "pw"));
    assertThat(config.access().allowTargets()).isEmpty();
  }

  @Test
  void a_secret_and_its_file_are_mutually_exclusive() {
    environment.put("CARILLON_ADMIN_KEY", "a");
    environment.put("CARILLON_ADMIN_KEY_FILE", "b");

    assertThatThrownBy(this::load)
        .hasMessage("give either CARILLON_ADMIN_KEY or CARILLON_ADMIN_KEY_FILE");
  }

  @Test
  void an_admin_key_shorter_than_32_characters_is_rejected_from_any_source() throws IOException {
    String tooShort = ADMIN_KEY.substring(0, 31);
    String rule =
        ": the value is not 32 to 200 visible ASCII characters, such as `openssl rand -hex 32`";

    assertThatThrownBy(() -> load("admin-key", tooShort)).hasMessage("--admin-key" + rule);
    Files.writeString(directory.resolve("key"), tooShort + "\n");
    assertThatThrownBy(() -> load("admin-key-file", "key")).hasMessage("--admin-key-file" + rule);
    Files.writeString(directory.resolve("carillon.yaml"), "admin-key: " + tooShort);
    assertThatThrownBy(this::load).hasMessage("carillon.yaml: admin-key" + rule);
    environment.put("CARILLON_ADMIN_KEY", tooShort);
    assertThatThrownBy(this::load).hasMessage("CARILLON_ADMIN_KEY" + rule);
    environment.put("CARILLON_ADMIN_KEY", ADMIN_KEY);
    assertThat(load().access().adminKey()).isEqualTo(ADMIN_KEY);
  }

  @Test
  void secrets_are_never_shown() {
    Config config =
        load("admin-key", ADMIN_KEY, "database-url", "postgresql://me:hunter2@db/tasks");

    assertThat(config.toString())
        .doesNotContain(ADMIN_KEY, "hunter2")
        .contains("jdbc:postgresql://db/tasks as me");
    assertThatThrownBy(() -> load("database-url", "mysql://me:hunter2@db"))
        .hasMessage("--database-url: the value is not " + DatabaseUrl.RULE);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "prot: 1           | carillon.yaml: unknown key \"prot\"; did you mean port?",
        "pool_size: 1      | carillon.yaml: unknown key \"pool_size\"; did you mean pool-size?",
        "port-file: x      | carillon.yaml: unknown key \"port-file\"",
        "port: [[1]]       | carillon.yaml: port must be a single value or a list of values",
        "'port:'           | carillon.yaml: port must be a single value or a list of values",
        "port: x           | carillon.yaml: port: \"x\" is not a number from 0 to 65535",
      })
  void a_file_with_an_invalid_entry_is_rejected(String text, String line) throws IOException {
    file(text);

    assertThatThrownBy(this::load).isInstanceOf(CommandFailed.class).hasMessage(line);
  }

  @ParameterizedTest
  @CsvSource({"'port: 1\nport: 2'", "'- port'", "'port: {'", "'\tport: 1'"})
  void a_file_that_is_not_a_map_is_rejected(String text) throws IOException {
    file(text);

    assertThatThrownBy(this::load)
        .isInstanceOf(CommandFailed.class)
        .hasMessageContaining("carillon.yaml");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "port          | -1           | a number from 0 to 65535",
        "port          | 65536        | a number from 0 to 65535",
        "port          | 80x          | a number from 0 to 65535",
        "port          | ''           | a number from 0 to 65535",
        "port          | tcp://1:2    | a number from 0 to 65535",
        "bind          | 1.2.3.4.5    | an IP address or a host name",
        "metrics-port  | 65536        | a number from 0 to 65535",
        "metrics-port  | none         | a number from 0 to 65535",
        "roles         | api,queen    | api, engine or both with a comma",
        "roles         | ,            | api, engine or both with a comma",
        "node-id       | a b          | 1 to 100 letters, digits, dots, dashes or underscores",
        "node-lease    | 10           | a duration from 1s to 10m",
        "node-lease    | 100ms        | a duration from 1s to 10m",
        "drain-timeout | 2h           | a duration from 0s to 1h",
        "dead-letter-ttl | 59s        | a duration from 1m to 3650d",
        "dead-letter-ttl | 3651d      | a duration from 1m to 3650d",
        "dead-letter-ttl | never      | a duration from 1m to 3650d",
        "archive-dir   | ''           | a directory",
        "archive-dir   | /dev/null/a  | a directory",
        "concurrency   | 0            | a number from 1 to 100000",
        "pool-size     | 1            | a number from 2 to 1000",
        "poison-crashes | 1           | a number from 2 to 100",
        "poison-crashes | 101         | a number from 2 to 100",
        "poison-crashes | none        | a number from 2 to 100",
        "allow-targets | 10.0.0.0/33  | a comma list of CIDRs and host names, such as"
            + " 10.0.0.0/8,hooks.internal",
        "allow-targets | 10.0.0.999   | a comma list of CIDRs and host names, such as"
            + " 10.0.0.0/8,hooks.internal",
        "allow-targets | a,,b         | a comma list of CIDRs and host names, such as"
            + " 10.0.0.0/8,hooks.internal",
        "log-format    | xml          | text or json",
        "log-level     | loud         | error, warn, info, debug or trace",
        "alert-deaths  | 0            | a number from 1 to 10000",
        "alert-within  | 8d           | a duration from 1s to 7d",
      })
  void an_invalid_value_is_rejected_with_key_value_and_rule(String key, String value, String rule) {
    assertThatThrownBy(() -> load(key, value))
        .isInstanceOf(CommandFailed.class)
        .hasMessage("--" + key + ": \"" + value + "\" is not " + rule);
  }

  @ParameterizedTest
  @CsvSource({"::1/128", "fd00::/8", "10.0.0.1", "192.168.0.0/16", "hooks.internal", "localhost"})
  void targets_are_addresses_networks_and_names(String target) {
    assertThat(load("allow-targets", target + ", example.org").access().allowTargets())
        .containsExactly(target, "example.org");
  }

  @Test
  void the_alert_url_must_be_an_allowed_target() throws IOException {
    Files.writeString(directory.resolve("hook"), "https://example.com/hook/s3cret\n");
    environment.put("CARILLON_ALERT_URL_FILE", "hook");
    file("alert-deaths: 3\nalert-within: 1m\n");

    Config config = load();

    assertThat(config.alert())
        .isEqualTo(new Config.Alert("https://example.com/hook/s3cret", 3, Duration.ofMinutes(1)));
    assertThat(config.toString()).doesNotContain("s3cret");
    assertThatThrownBy(() -> load("alert-url", "http://10.0.0.1/"))
        .isInstanceOf(CommandFailed.class)
        .hasMessage("--alert-url: \"10.0.0.1\" is not an address that deliveries may reach");
    assertThat(load("alert-url", "http://10.0.0.1/", "allow-targets", "10.0.0.0/8").alert().url())
        .isEqualTo("http://10.0.0.1/");
    assertThatThrownBy(() -> load("alert-url", "https://me:s3cret@example.com/"))
        .hasMessage("--alert-url: the URL must not carry a user or password");
  }

  @Test
  void an_unknown_variable_is_rejected() {
    environment.put("CARILLON_POOLSIZE", "5");

    assertThatThrownBy(this::load)
        .hasMessage("unknown variable \"CARILLON_POOLSIZE\"; did you mean CARILLON_POOL_SIZE?");
  }

  @Test
  void variables_of_the_client_commands_and_of_kubernetes_are_ignored() {
    environment.put("CARILLON_URL", "http://x");
    environment.put("CARILLON_SERVICE_HOST", "10.0.0.1");
    environment.put("CARILLON_SERVICE_PORT_HTTP", "80");
    environment.put("CARILLON_PORT_8080_TCP_ADDR", "10.0.0.1");

    assertThat(load().http().port()).isEqualTo(8080);
  }
}
