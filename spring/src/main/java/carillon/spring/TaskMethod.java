package carillon.spring;

import carillon.client.TaskContext;
import carillon.client.WorkerBuilder;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ReflectionUtils;

/** A method with {@link CarillonTask} and its bean. */
final class TaskMethod {

  private final String type;
  private final Supplier<Object> bean;
  private final Method method;
  private final int payload;

  /**
   * @param method callable on the bean, even if the bean is a proxy
   * @throws IllegalStateException if the method has unsupported parameters
   */
  TaskMethod(String type, Supplier<Object> bean, Method method) {
    this.type = type;
    this.bean = bean;
    this.method = method;
    this.payload = payloadOf(method);
    ReflectionUtils.makeAccessible(method);
  }

  String type() {
    return type;
  }

  /** Registers the method as a handler. */
  void register(WorkerBuilder worker) {
    if (payload < 0) {
      worker.handle(type, context -> call(null, context));
    } else {
      Type as = method.getGenericParameterTypes()[payload];
      worker.handleAs(type, as, this::call);
    }
  }

  @Nullable Object call(@Nullable Object data, TaskContext context) throws Exception {
    @Nullable Object[] arguments = new @Nullable Object[method.getParameterCount()];
    for (int i = 0; i < arguments.length; i++) {
      arguments[i] = i == payload ? data : context;
    }
    try {
      return method.invoke(bean.get(), arguments);
    } catch (InvocationTargetException e) {
      // The exception of the method decides the outcome of the task.
      ReflectionUtils.rethrowException(e.getTargetException());
      throw new AssertionError(e);
    }
  }

  /** The index of the payload parameter, or -1. */
  private static int payloadOf(Method method) {
    int payload = -1;
    int contexts = 0;
    Class<?>[] parameters = method.getParameterTypes();
    for (int i = 0; i < parameters.length; i++) {
      if (parameters[i] == TaskContext.class) {
        contexts++;
      } else if (payload < 0) {
        payload = i;
      } else {
        throw wrong(method, "takes more than one payload");
      }
    }
    if (contexts > 1) {
      throw wrong(method, "takes more than one TaskContext");
    }
    return payload;
  }

  private static IllegalStateException wrong(Method method, String what) {
    return new IllegalStateException(
        "@CarillonTask method "
            + method.toGenericString()
            + " "
            + what
            + "; it may take one payload and one TaskContext");
  }

  @Override
  public String toString() {
    return method.getDeclaringClass().getSimpleName() + "." + method.getName();
  }
}
