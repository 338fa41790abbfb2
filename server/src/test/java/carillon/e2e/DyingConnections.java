package carillon.e2e;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

/**
 * A data source whose connections are aborted just before a given statement, like those of a
 * process that is killed at that point.
 */
final class DyingConnections {

  private final DataSource real;
  private final String statement;
  private final AtomicInteger deaths = new AtomicInteger();

  /**
   * @param statement part of the text of the statement that never runs
   */
  DyingConnections(DataSource real, String statement) {
    this.real = real;
    this.statement = statement;
  }

  int deaths() {
    return deaths.get();
  }

  DataSource dataSource() {
    return proxy(
        DataSource.class,
        (method, arguments) -> {
          Object result = method.invoke(real, arguments);
          return result instanceof Connection connection ? dying(connection) : result;
        });
  }

  private Connection dying(Connection connection) {
    return proxy(
        Connection.class,
        (method, arguments) -> {
          if (method.getName().equals("prepareStatement")
              && String.valueOf(arguments[0]).contains(statement)) {
            deaths.incrementAndGet();
            connection.abort(Runnable::run);
            throw new SQLException("killed", "08006");
          }
          return method.invoke(connection, arguments);
        });
  }

  /** Handles a call of the proxied interface. */
  private interface Call {
    Object on(Method method, Object[] arguments) throws ReflectiveOperationException, SQLException;
  }

  private static <T> T proxy(Class<T> type, Call call) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              try {
                return call.on(method, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }
}
