# narrow screens
