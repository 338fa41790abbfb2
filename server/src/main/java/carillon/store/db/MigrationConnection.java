package carillon.store.db;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.time.Duration;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Flyway's connection behind a pooler. Flyway sets the search path for the session, which the
 * pooler gives to other clients; here it is set for the transaction. Our migrations name their
 * schema.
 */
final class MigrationConnection implements InvocationHandler {

  private static final String FOR_THE_SESSION = "SELECT set_config('search_path', ?, false)";
  private static final String FOR_THE_TRANSACTION = "SELECT set_config('search_path', ?, true)";

  private final Object target;

  private MigrationConnection(Object target) {
    this.target = target;
  }

  /** Without a limit to how long a migration may take. */
  static DataSource source(Db.Address address) {
    DataSource source = ConnectionSource.of(address, Duration.ZERO);
    return address.pooler() == Pooler.NONE ? source : proxy(DataSource.class, source);
  }

  private static <T> T proxy(Class<T> type, Object target) {
    return type.cast(
        Proxy.newProxyInstance(
            MigrationConnection.class.getClassLoader(),
            new Class<?>[] {type},
            new MigrationConnection(target)));
  }

  @Override
  public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments)
      throws Throwable {
    if (arguments != null && FOR_THE_SESSION.equals(arguments[0])) {
      arguments[0] = FOR_THE_TRANSACTION;
    }
    try {
      Object result = method.invoke(target, arguments);
      return result instanceof Connection && method.getName().equals("getConnection")
          ? proxy(Connection.class, result)
          : result;
    } catch (InvocationTargetException e) {
      throw e.getTargetException();
    }
  }
}
