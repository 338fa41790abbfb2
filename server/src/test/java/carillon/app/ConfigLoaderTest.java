package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.app.cli.CommandFailed;
import carillon.store.Pooler;
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
  void these_are_all_keys_and_their_defaults() {
    assertThat(
            Arrays.stream(Setting.values())
                .map(setting -> setting.key + " = " + setting.defaultText))
        .containsExactly(
            "port = 8080",
            "bind = 127.0.0.1",
            "max-connections-per-address = 1024",
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
            "pool-size = 21",
            "log-format = text",
            "log-level = info");
  }

  @Test
  void without_anything_given_the_defaults_hold() {
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
                new Config.Database(null, 21, Pooler.NONE),
                new Config.Engine(512, Duration.ofSeconds(10), Duration.ofDays(30), 3),
                new Config.Access(null, List.of("127.0.0.0/8", "::1/128")),
                new Config.Log(Config.LogFormat.TEXT, "info"),
                new Config.Alert(null, 10, Duration.ofMinutes(5)),
                new Config.Archive(Duration.ofDays(30), directory.resolve("data/archive")),
                new Config.Brokers(List.of(), List.of())));
  }

  @Test
  void a_flag_stands_above_a_variable_above_the_file() throws IOException {
    file("port: 1\nconcurrency: 1\npool-size: 3\n");
    environment.put("CARILLON_PORT", "2");
    environment.put("CARILLON_CONCURRENCY", "2");

    Config config = load("port", "3");

    assertThat(config.http().port()).isEqualTo(3);
    assertThat(config.engine().concurrency()).isEqualTo(2);
    assertThat(config.database().poolSize()).isEqualTo(3);
  }

  @Test
  void another_file_can_be_named_and_must_then_exist() throws IOException {
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
  void a_pooler_is_named_by_its_mode_and_stands_before_a_database_of_your_own() {
    String url = "postgresql://u@h/d";

    assertThat(load("database-url", url, "pooler", "transaction").database().pooler())
        .isEqualTo(Pooler.TRANSACTION);
    assertThatThrownBy(() -> load("database-url", url, "pooler", "session"))
        .hasMessageContaining("--pooler")
        .hasMessageContaining("none or transaction");
    assertThatThrownBy(() -> load("pooler", "transaction")).hasMessageContaining("embedded");
  }

  @Test
  void an_empty_file_and_an_empty_variable_say_nothing() throws IOException {
    file("");
    environment.put("CARILLON_PORT", "");

    assertThat(load().http().port()).isEqualTo(8080);
  }

  @Test
  void secrets_can_be_in_files_of_their_own() throws IOException {
    Files.writeString(directory.resolve("key"), "s3cret\n");
    Files.writeString(directory.resolve("url"), "postgresql://me:pw@db/tasks\n");
    environment.put("CARILLON_ADMIN_KEY_FILE", "key");

    Config config = load("database-url-file", "url");

    assertThat(config.access().adminKey()).isEqualTo("s3cret");
    assertThat(config.database().url())
        .isEqualTo(new DatabaseUrl("jdbc:postgresql://db/tasks", "me", "pw"));
    assertThat(config.access().allowTargets()).isEmpty();
  }

  @Test
  void a_secret_is_given_once() {
    environment.put("CARILLON_ADMIN_KEY", "a");
    environment.put("CARILLON_ADMIN_KEY_FILE", "b");

    assertThatThrownBy(this::load)
        .hasMessage("give either CARILLON_ADMIN_KEY or CARILLON_ADMIN_KEY_FILE");
  }

  @Test
  void secrets_are_shown_nowhere() {
    Config config = load("admin-key", "s3cret", "database-url", "postgresql://me:hunter2@db/tasks");

    assertThat(config.toString())
        .doesNotContain("s3cret", "hunter2")
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
        "port-file: x      | carillon.yaml: unknown key \"port-file\"; did you mean pool-size?",
        "port: [[1]]       | carillon.yaml: port must have one value, or a list of them",
        "'port:'           | carillon.yaml: port must have one value, or a list of them",
        "port: x           | carillon.yaml: port: \"x\" is not a number from 0 to 65535",
      })
  void a_file_with_a_mistake_is_refused(String text, String line) throws IOException {
    file(text);

    assertThatThrownBy(this::load).isInstanceOf(CommandFailed.class).hasMessage(line);
  }

  @ParameterizedTest
  @CsvSource({"'port: 1\nport: 2'", "'- port'", "'port: {'", "'\tport: 1'"})
  void a_file_that_is_not_keys_and_values_is_refused(String text) throws IOException {
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
  void a_bad_value_is_refused_with_key_value_and_rule(String key, String value, String rule) {
    assertThatThrownBy(() -> load(key, value))
        .isInstanceOf(CommandFailed.class)
        .hasMessage("--" + key + ": \"" + value + "\" is not " + rule);
  }

  @ParameterizedTest
  @CsvSource({
    "::1/128",
    "fd00::/8",
    "10.0.0.1",
    "192.168.0.0/16",
    "hooks.internal",
    "*.svc.cluster.local",
    "localhost"
  })
  void targets_are_addresses_networks_and_names(String target) {
    assertThat(load("allow-targets", target + ", example.org").access().allowTargets())
        .containsExactly(target, "example.org");
  }

  @Test
  void alerts_go_where_targets_may_go() throws IOException {
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
  void an_unknown_variable_is_refused() {
    environment.put("CARILLON_POOLSIZE", "5");

    assertThatThrownBy(this::load)
        .hasMessage("unknown variable \"CARILLON_POOLSIZE\"; did you mean CARILLON_POOL_SIZE?");
  }

  @Test
  void variables_of_the_commands_and_of_kubernetes_are_not_ours_to_judge() {
    environment.put("CARILLON_URL", "http://x");
    environment.put("CARILLON_SERVICE_HOST", "10.0.0.1");
    environment.put("CARILLON_SERVICE_PORT_HTTP", "80");
    environment.put("CARILLON_PORT_8080_TCP_ADDR", "10.0.0.1");

    assertThat(load().http().port()).isEqualTo(8080);
  }
}
