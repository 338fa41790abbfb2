package carillon.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.cli.CommandFailed;
import carillon.model.KeyText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AdminKeyTest {

  private static final String CONFIGURED = "given-0123456789-0123456789-0123";

  @TempDir Path directory;

  private Config config(Map<String, String> flags) {
    return new ConfigLoader(Map.of(), directory).load(flags);
  }

  @Test
  void a_configured_key_is_used_and_not_stored() {
    AdminKey key = AdminKey.of(config(Map.of("admin-key", CONFIGURED)));

    assertThat(key).isEqualTo(new AdminKey(CONFIGURED, null, false));
    assertThat(directory.resolve("data")).doesNotExist();
  }

  @Test
  void a_key_is_generated_once_and_readable_only_by_its_owner() throws IOException {
    AdminKey first = AdminKey.of(config(Map.of()));
    AdminKey second = AdminKey.of(config(Map.of()));

    Path file = directory.resolve("data/admin-key");
    assertThat(first).isEqualTo(new AdminKey(first.value(), file, true));
    assertThat(second).isEqualTo(new AdminKey(first.value(), file, false));
    assertThat(KeyText.parse(first.value())).isPresent();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    assertThat(
            PosixFilePermissions.toString(Files.getPosixFilePermissions(directory.resolve("data"))))
        .isEqualTo("rwx------");
  }

  @Test
  void processes_that_start_at_the_same_time_agree_on_one_key() throws Exception {
    Callable<AdminKey> find = () -> AdminKey.of(config(Map.of()));

    List<AdminKey> keys;
    try (var threads = Executors.newFixedThreadPool(8)) {
      keys =
          threads.invokeAll(Stream.generate(() -> find).limit(8).toList()).stream()
              .map(Future::resultNow)
              .toList();
    }

    assertThat(keys).extracting(AdminKey::value).containsOnly(keys.getFirst().value());
    assertThat(keys).filteredOn(AdminKey::isNew).hasSize(1);
    assertThat(directory.resolve("data")).isDirectoryNotContaining("glob:**.new");
  }

  @Test
  void an_empty_file_is_rejected() throws IOException {
    Files.createDirectories(directory.resolve("data"));
    Files.writeString(directory.resolve("data/admin-key"), "\n");

    assertThatThrownBy(() -> AdminKey.of(config(Map.of())))
        .isInstanceOf(CommandFailed.class)
        .hasMessageContaining("is empty");
  }

  @Test
  void a_stored_key_that_is_too_short_is_rejected() throws IOException {
    Files.createDirectories(directory.resolve("data"));
    Files.writeString(directory.resolve("data/admin-key"), "changed-by-hand\n");

    assertThatThrownBy(() -> AdminKey.of(config(Map.of())))
        .isInstanceOf(CommandFailed.class)
        .hasMessageContaining("fewer than 32 characters");
  }

  @Test
  void to_string_hides_the_key() {
    assertThat(AdminKey.of(config(Map.of("admin-key", CONFIGURED))).toString())
        .doesNotContain(CONFIGURED);
  }
}
