package carillon.api.http;

import static carillon.api.http.Permission.ARCHIVES;
import static carillon.api.http.Permission.AUDIT;
import static carillon.api.http.Permission.CLUSTER;
import static carillon.api.http.Permission.SCHEDULES_CONFIGURE;
import static carillon.api.http.Permission.SCHEDULES_READ;
import static carillon.api.http.Permission.TASKS_CANCEL;
import static carillon.api.http.Permission.TASKS_CREATE;
import static carillon.api.http.Permission.TASKS_OPERATE;
import static carillon.api.http.Permission.TASKS_READ;
import static carillon.api.http.Permission.TENANTS;
import static carillon.api.http.Permission.TYPES_CONFIGURE;
import static carillon.api.http.Permission.TYPES_READ;
import static carillon.api.http.Permission.WORK;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** What a key may do. This is the whole table: what is not granted here is refused. */
public enum Role {
  /** Of the whole installation: any tenant. */
  ADMIN(EnumSet.allOf(Permission.class), false),
  OWNER(EnumSet.complementOf(EnumSet.of(TENANTS, CLUSTER, ARCHIVES)), false),
  OPERATOR(
      EnumSet.of(
          TASKS_CREATE,
          TASKS_READ,
          TASKS_CANCEL,
          TASKS_OPERATE,
          TYPES_READ,
          TYPES_CONFIGURE,
          SCHEDULES_READ,
          SCHEDULES_CONFIGURE,
          WORK,
          AUDIT),
      false),
  PRODUCER(EnumSet.of(TASKS_CREATE, TASKS_READ, TASKS_CANCEL, TYPES_READ, SCHEDULES_READ), true),
  WORKER(EnumSet.of(WORK, TASKS_READ, TYPES_READ, SCHEDULES_READ), true),
  VIEWER(EnumSet.of(TASKS_READ, TYPES_READ, SCHEDULES_READ, AUDIT), false);

  @SuppressWarnings("ImmutableEnumChecker") // an EnumSet that is never given out
  private final Set<Permission> permissions;

  private final boolean limitedToTypes;

  Role(Set<Permission> permissions, boolean limitedToTypes) {
    this.permissions = permissions;
    this.limitedToTypes = limitedToTypes;
  }

  public boolean may(Permission permission) {
    return switch (permission) {
      case NONE, ANY -> true;
      default -> permissions.contains(permission);
    };
  }

  /** The roles with a permission, such as "admin or owner". */
  static String allowedTo(Permission permission) {
    return Arrays.stream(values())
        .filter(role -> role.may(permission))
        .map(Role::label)
        .collect(Collectors.joining(" or "));
  }

  /** Whether keys of this role can have a list of types. */
  public boolean canBeLimitedToTypes() {
    return limitedToTypes;
  }

  public boolean covers(Role other) {
    return permissions.containsAll(other.permissions);
  }

  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  static Optional<Role> labelled(String label) {
    for (Role role : values()) {
      if (role.label().equals(label)) {
        return Optional.of(role);
      }
    }
    return Optional.empty();
  }
}
