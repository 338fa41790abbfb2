package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.api.error.ApiException;
import carillon.api.http.Cursors;
import carillon.api.http.Permission;
import carillon.api.http.Role;
import carillon.model.KeyText;
import carillon.model.task.ClaimToken;
import carillon.model.task.Lease;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

/** Keys, tokens, cursors and roles without a server. */
class CredentialsTest {

  private final Random random = new Random(7);

  @Test
  void a_key_parses_and_any_changed_character_is_detected() {
    KeyText key = KeyText.random(random);

    assertThat(key.text()).matches("carillon_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}");
    assertThat(KeyText.parse(key.text())).contains(key);
    for (int i = 0; i < key.text().length(); i++) {
      StringBuilder changed = new StringBuilder(key.text());
      changed.setCharAt(i, changed.charAt(i) == 'x' ? 'y' : 'x');
      assertThat(KeyText.parse(changed.toString())).isEmpty();
    }
    assertThat(key.toString()).doesNotContain(key.text());
  }

  @Test
  void a_lease_has_exactly_one_token() {
    Lease lease = new Lease(42, new UUID(random.nextLong(), random.nextLong()));
    String token = ClaimToken.of(lease);

    assertThat(ClaimToken.parse(token)).contains(lease);
    for (String other :
        Set.of(
            "",
            "x",
            token + "A",
            token.substring(1),
            "!".repeat(27),
            token.substring(0, 26) + "_")) {
      assertThat(ClaimToken.parse(other)).isEmpty();
    }
  }

  @Test
  void a_cursor_is_valid_only_for_its_own_list() {
    Cursors cursors = new Cursors(new SecretKeySpec(new byte[32], "HmacSHA256"));
    String cursor = cursors.seal("1\n/v1/tasks\n{}", "here");

    assertThat(cursors.open("1\n/v1/tasks\n{}", cursor)).isEqualTo("here");
    for (String list : Set.of("2\n/v1/tasks\n{}", "1\n/v1/tasks\n{type=a}")) {
      assertThatThrownBy(() -> cursors.open(list, cursor)).isInstanceOf(ApiException.class);
    }
    for (String other :
        Set.of(
            "",
            "x",
            cursor + "AAAA",
            cursor + "=",
            cursor + "==",
            cursor.substring(2),
            "%%%",
            "A".repeat(10_000))) {
      assertThatThrownBy(() -> cursors.open("1\n/v1/tasks\n{}", other))
          .isInstanceOf(ApiException.class);
    }
  }

  /** Deliberately repeats the table in Role, so that every change of it must be confirmed here. */
  @Test
  void each_role_has_exactly_these_permissions() {
    Map<Role, Set<Permission>> table = new EnumMap<>(Role.class);
    Set<Permission> everyone = EnumSet.of(Permission.NONE, Permission.ANY);
    Set<Permission> reader =
        with(everyone, Permission.TASKS_READ, Permission.TYPES_READ, Permission.SCHEDULES_READ);
    Set<Permission> viewer = with(reader, Permission.AUDIT);
    Set<Permission> producer = with(reader, Permission.TASKS_CREATE, Permission.TASKS_CANCEL);
    Set<Permission> operator =
        with(
            producer,
            Permission.WORK,
            Permission.TASKS_OPERATE,
            Permission.TYPES_CONFIGURE,
            Permission.SCHEDULES_CONFIGURE,
            Permission.AUDIT);
    table.put(Role.VIEWER, viewer);
    table.put(Role.PRODUCER, producer);
    table.put(Role.WORKER, with(reader, Permission.WORK));
    table.put(Role.OPERATOR, operator);
    table.put(Role.OWNER, with(operator, Permission.KEYS));
    table.put(Role.ADMIN, EnumSet.allOf(Permission.class));

    for (Role role : Role.values()) {
      for (Permission permission : Permission.values()) {
        assertThat(role.may(permission))
            .as("%s %s", role, permission)
            .isEqualTo(table.getOrDefault(role, Set.of()).contains(permission));
      }
    }
  }

  @Test
  void a_role_covers_only_roles_without_further_permissions() {
    assertThat(Role.OWNER.covers(Role.ADMIN)).isFalse();
    assertThat(Role.OWNER.covers(Role.OWNER)).isTrue();
    assertThat(Role.OPERATOR.covers(Role.OWNER)).isFalse();
    assertThat(Role.PRODUCER.covers(Role.WORKER)).isFalse();
    assertThat(Role.ADMIN.covers(Role.ADMIN)).isTrue();
  }

  private static Set<Permission> with(Set<Permission> some, Permission... more) {
    Set<Permission> all = EnumSet.copyOf(some);
    all.addAll(Set.of(more));
    return all;
  }
}
